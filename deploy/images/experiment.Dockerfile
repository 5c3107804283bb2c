# `quartet bench planners` with Inspect, for experiments with teams (docs/planners.md). From the repository's root:
#
#   docker build -f deploy/images/experiment.Dockerfile -t quartet-experiment .
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
RUN pip install --no-cache-dir "uv>=0.13,<1"
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_NO_CACHE=1 UV_COMPILE_BYTECODE=1 UV_PROJECT_ENVIRONMENT=/opt/quartet
WORKDIR /src
COPY . .
# Why Inspect has another `openai` than the lock file: scripts/inspect-env.
RUN uv sync --frozen --quiet --no-dev --no-editable --package quartet-research --package quartet-cli --extra inspect \
    && uv pip install --quiet --python /opt/quartet "$(sed -n "s/^OPENAI='\(.*\)'$/\1/p" scripts/inspect-env)"

FROM python:${PYTHON}-slim
RUN groupadd --gid 10001 quartet && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home quartet
COPY --from=build /opt/quartet /opt/quartet
ENV PATH=/opt/quartet/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    HOME=/tmp \
    MPLCONFIGDIR=/tmp/matplotlib
USER 10001:10001
WORKDIR /tmp
ENTRYPOINT ["quartet", "bench", "planners"]
