FROM python:3.13-slim
COPY . /src
RUN pip install --no-cache-dir -c /src/requirements.lock "/src[serve]" && rm -rf /src \
 && useradd --create-home quorate && mkdir /data && chown quorate /data
USER quorate
WORKDIR /data
VOLUME /data
EXPOSE 8765
ENTRYPOINT ["quorate", "serve"]
CMD ["run", "/data/project.db", "--host", "0.0.0.0"]
