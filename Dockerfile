# The base is pinned by its exact tag. Its digest is not known here, since the image was never pulled where this file was
# written: add it (`docker buildx imagetools inspect node:24.21.0-bookworm-slim`) before you rely on the build.
FROM node:24.21.0-bookworm-slim AS packages
WORKDIR /opt/countersign
COPY package.json package-lock.json .npmrc ./
RUN ["npm", "ci", "--omit=dev", "--ignore-scripts"]

FROM node:24.21.0-bookworm-slim
RUN apt-get -qq update \
 && apt-get -qq install -y --no-install-recommends bubblewrap ca-certificates git \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 countersign \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/countersign --shell /usr/sbin/nologin countersign \
 && install -d -o 10001 -g 10001 -m 0711 /var/lib/countersign \
 && ln -s /opt/countersign/bin/countersign.mjs /usr/local/bin/countersign
WORKDIR /opt/countersign
COPY --from=packages /opt/countersign/node_modules node_modules
COPY . .
USER 10001:10001
WORKDIR /var/lib/countersign
ENV COUNTERSIGN_HOME=/var/lib/countersign HOST=0.0.0.0 NODE_ENV=production
VOLUME ["/var/lib/countersign"]
EXPOSE 3000
ENTRYPOINT ["/opt/countersign/container/start"]
CMD ["serve"]
