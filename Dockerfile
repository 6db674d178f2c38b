# The image of both programs and of the migration: `docker run marina apiserver`, `operator` or `migrate`. With
# `--target marina-scanner` the image of the scanner: the same with grype in it, `docker run marina-scanner scanner`.
ARG BASE=gcr.io/distroless/nodejs24-debian12:nonroot

FROM node:24-bookworm-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY . .
# The same script makes the folder that the tests run the programs from.
RUN node image.ts /image

FROM golang:1.26-bookworm AS grype
RUN CGO_ENABLED=0 go install -trimpath -ldflags "-s -w" github.com/anchore/grype/cmd/grype@v0.120.1

FROM ${BASE} AS programs
LABEL org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://marina.dev"
COPY --from=build /image/ /
ENV NODE_ENV=production PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
WORKDIR /app
USER 65532:65532
ENTRYPOINT ["node"]
CMD ["apiserver"]

FROM programs AS marina-scanner
LABEL org.opencontainers.image.title="marina-scanner" \
      org.opencontainers.image.description="The scanner of images of a managed-Kubernetes service"
COPY --from=grype /go/bin/grype /usr/local/bin/grype
CMD ["scanner"]

# The last target is the default.
FROM programs AS marina
LABEL org.opencontainers.image.title="marina" \
      org.opencontainers.image.description="A managed-Kubernetes service on a management cluster that runs Cluster API"
