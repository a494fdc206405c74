# docker build -t testimonials .
# docker run -p 8000:8000 -v testimonials:/data -e TESTIMONIALS_BASE_URL=https://... testimonials

FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml setup.py constraints.txt README.md LICENSE ./
COPY testimonials testimonials
RUN python -m venv /opt/testimonials \
 && /opt/testimonials/bin/pip install --no-cache-dir --constraint constraints.txt '.[postgres,redis,metrics,sentry]'

FROM python:3.11-slim
# Pictures to share bring fonts for Latin, Cyrillic, Greek, Arabic, Hebrew, Chinese, Japanese, Korean
# and emoji. For other scripts install fonts-noto-core here.
RUN apt-get update && apt-get install --yes --no-install-recommends age && rm -rf /var/lib/apt/lists/*
RUN useradd --system --uid 10001 --no-create-home testimonials \
 && install --directory --owner testimonials --mode 0700 /data
COPY --from=build /opt/testimonials /opt/testimonials
ENV PATH=/opt/testimonials/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    TESTIMONIALS_INSTANCE_PATH=/data \
    TESTIMONIALS_HOST=0.0.0.0
USER testimonials
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ.get('TESTIMONIALS_PORT', '8000') + '/healthz', timeout=4)"]
ENTRYPOINT ["testimonials"]
CMD ["serve"]
