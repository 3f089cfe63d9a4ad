# A server for votes. docs/guides/deploy.md says how to use it.
FROM python:3.13-slim AS build
WORKDIR /build
COPY pyproject.toml README.md LICENSE requirements.lock ./
COPY src src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
COPY requirements.lock /tmp/requirements.lock
RUN --mount=from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir -c /tmp/requirements.lock "$(echo /wheels/*.whl)[serve]" \
    && useradd --system --create-home --home-dir /data quorate
USER quorate
WORKDIR /data
VOLUME /data
EXPOSE 8765
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/healthz')"]
ENTRYPOINT ["quorate", "serve"]
CMD ["run", "--host", "0.0.0.0"]
