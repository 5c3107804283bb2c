# Every process of Quartet but Redis and the monitoring, one image each. From the repository's root:
#
#   docker compose build                                    all of them, or by hand, one:
#   docker build -f deploy/images/quartet.Dockerfile --build-arg PACKAGE=quartet-pick --build-arg MODULE=quartet_pick \
#       --target service -t quartet-pick .
#
# The targets: `service` is a program of Python alone; `simulation` renders, and has OpenGL besides.
# Behind an index or a proxy of one's own: --build-arg INDEX_URL=..., --secret id=ca,src=ca.pem (docs/deployment.md).
ARG BASE=python:3.13-slim-trixie

FROM ${BASE} AS tools
ARG INDEX_URL
ARG DEBIAN_FRONTEND=noninteractive
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends binutils >/dev/null && rm -rf /var/lib/apt/lists/*
COPY --chmod=755 deploy/images/fetch deploy/images/trim /usr/local/bin/
RUN --mount=type=secret,id=ca --mount=type=cache,target=/root/.cache/pip \
    fetch pip install --quiet --disable-pip-version-check --root-user-action=ignore "uv>=0.9,<1"
WORKDIR /src

# What the lock file says for this package. The file is the same for all packages with the same dependencies, and so is
# the layer that is made from it: three agents or three servers share one, on disk and in memory.
FROM tools AS lock
ARG PACKAGE
# Distributions that this process never imports, with spaces; what only they need goes with them.
ARG UNUSED=
# Not empty: with the OpenTelemetry SDK, for traces (deploy/compose.tracing.yml).
ARG TRACING=
COPY . .
RUN uv export --frozen --quiet --no-dev --no-header --no-annotate --no-emit-workspace --package "${PACKAGE}" \
        $(for name in ${UNUSED}; do echo "--prune ${name}"; done) --output-file /requirements.txt \
    && if [ -n "${TRACING}" ]; then uv export --frozen --quiet --no-dev --no-header --no-annotate --no-emit-workspace \
        --package quartet-process --extra otlp >>/requirements.txt; fi \
    && uv export --frozen --quiet --no-dev --no-header --no-annotate --no-hashes --no-editable --package "${PACKAGE}" \
        | sed -n '/^\.\//p' >/own.txt

FROM tools AS dependencies
# Modules of what is installed that this process never imports.
ARG UNUSED_MODULES=
ARG UNUSED_MODULES_TOO=
COPY --from=lock /requirements.txt /requirements.txt
RUN --mount=type=secret,id=ca --mount=type=cache,target=/root/.cache/uv \
    uv venv --quiet /opt/quartet \
    && fetch uv pip install --quiet --python /opt/quartet --no-deps --require-hashes \
        --requirements /requirements.txt \
    && trim /opt/quartet ${UNUSED_MODULES} ${UNUSED_MODULES_TOO}

FROM tools AS own
COPY --from=lock /own.txt /own.txt
COPY . .
RUN --mount=type=secret,id=ca --mount=type=cache,target=/root/.cache/uv \
    fetch uv pip install --quiet --no-deps --target /opt/quartet/own --requirements /own.txt \
    && trim /opt/quartet/own

FROM ${BASE} AS service
# The group owns the secrets that are mounted; another group cannot read them.
RUN groupadd --gid 10001 quartet && useradd --uid 10001 --gid 10001 --home-dir /tmp --no-create-home quartet \
    && install -d -o quartet -g quartet /state
COPY --from=dependencies /opt/quartet /opt/quartet
COPY --from=own /opt/quartet/own /opt/quartet/own
ARG MODULE
ENV PATH=/opt/quartet/bin:$PATH \
    PYTHONPATH=/opt/quartet/own \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONSAFEPATH=1 \
    MODULE=${MODULE} \
    QUARTET_HOST=0.0.0.0 \
    QUARTET_PORT=8000 \
    QUARTET_LOG_FORMAT=json \
    QUARTET_STATE_DIR=/state
USER 10001:10001
WORKDIR /state
VOLUME /state
EXPOSE 8000
STOPSIGNAL SIGTERM
COPY --chmod=755 deploy/images/healthy deploy/images/start /opt/quartet/bin/
# A start takes seconds, on a machine that is busy minutes.
HEALTHCHECK --interval=15s --timeout=10s --start-period=300s --start-interval=1s --retries=3 CMD ["healthy"]
ENTRYPOINT ["start"]

FROM service AS simulation
USER 0
ARG DEBIAN_FRONTEND=noninteractive
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends libosmesa6 >/dev/null \
    && rm -rf /var/lib/apt/lists/*
ENV MUJOCO_GL=osmesa
USER 10001:10001
