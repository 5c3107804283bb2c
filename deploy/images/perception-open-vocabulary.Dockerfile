# The perception server with the open-vocabulary segmenter (docs/perception.md). From the repository's root:
#
#   docker build -f deploy/images/perception-open-vocabulary.Dockerfile -t quartet-perception-open-vocabulary .
#
# CUDA comes with torch's wheels, so the base has none; the host brings the driver and the NVIDIA Container Toolkit.
# Weights are not in the image: mount them at /weights.
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS tools
RUN pip install --no-cache-dir "uv>=0.9,<1"
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1
WORKDIR /src

# What the lock file says, in a file that changes only when it does: the layer of some GB after it stays.
FROM tools AS lock
COPY . .
RUN uv export --frozen --quiet --no-dev --no-emit-workspace --package quartet-mcp-perception --extra open-vocabulary \
    --output-file /requirements.txt

FROM tools AS build
COPY --from=lock /requirements.txt /requirements.txt
RUN uv venv --quiet /opt/quartet \
    && uv pip install --quiet --python /opt/quartet --require-hashes --requirements /requirements.txt
COPY . .
RUN UV_PROJECT_ENVIRONMENT=/opt/quartet uv sync --frozen --quiet --inexact --no-dev --no-editable \
    --package quartet-mcp-perception --extra open-vocabulary

FROM python:${PYTHON}-slim
RUN useradd --uid 10001 --create-home quartet && install -d -o quartet -g quartet /state /weights /site
COPY --from=build /opt/quartet /opt/quartet
ENV PATH=/opt/quartet/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    HF_HOME=/weights \
    HF_HUB_DISABLE_TELEMETRY=1 \
    QUARTET_HOST=0.0.0.0 \
    QUARTET_PORT=8000 \
    QUARTET_LOG_FORMAT=json \
    QUARTET_ROBOT_FILE=/site/robot.yaml \
    QUARTET_SITE_FILE=/site/site.yaml \
    QUARTET_STATE_DIR=/state \
    QUARTET_SEGMENTER=open_vocabulary
USER quartet
WORKDIR /home/quartet
VOLUME ["/state", "/weights"]
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD \
    ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"QUARTET_PORT\"]}/health', timeout=4)"]
ENTRYPOINT ["python", "-m", "quartet_perception"]
