# venire serve, or the inspector: not as root, and with a root file system that may be read-only.
FROM python:3.11-slim AS build
WORKDIR /src
COPY . .
# The checkout's history does not come along: a release's image is told its version (--build-arg VERSION=X.Y.Z).
ARG VERSION=
RUN pip install --no-cache-dir build && VENIRE_VERSION=$VERSION python -m build --wheel --outdir /dist .

FROM python:3.11-slim
COPY --from=build /dist/*.whl /tmp/
RUN pip install --no-cache-dir "$(ls /tmp/venire-*.whl)[postgres]" && rm /tmp/*.whl \
 && useradd --create-home --uid 10001 venire \
 && install --directory --owner venire --group venire /data
USER venire
WORKDIR /home/venire
# What is written goes to /data (runs) and /tmp: mount both, and the rest may be read-only.
ENV HOME=/tmp PYTHONDONTWRITEBYTECODE=1
VOLUME ["/data"]
EXPOSE 8642
ENTRYPOINT ["venire"]
CMD ["serve", "--help"]
