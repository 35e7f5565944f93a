# The web backend: docker build -t ace-graph . && docker run -p 8000:8000 -e GEMINI_API_KEY -e ACE_JWT_SECRET -v ace:/data ace-graph
# The same image is the worker: docker run ... ace-graph ace-graph worker
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/ace && /opt/ace/bin/pip install --no-cache-dir ".[postgres,tracing]"

FROM python:${PYTHON}-slim
RUN useradd --uid 10001 --home-dir /data --create-home --shell /usr/sbin/nologin ace
COPY --from=build /opt/ace /opt/ace
ENV PATH=/opt/ace/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    XDG_DATA_HOME=/data \
    ACE_LOG_FORMAT=json
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
CMD ["ace-graph", "serve", "--host", "0.0.0.0", "--port", "8000"]
