# Paths, program and user of the official image.
FROM serve-bench/serving:cpu
RUN printf '#!/opt/serving/bin/python\nfrom ts.model_server import start\n\nstart()\n' > /opt/serving/bin/torchserve \
 && chmod 755 /opt/serving/bin/torchserve \
 && mkdir -p /home/model-server/model-store /home/model-server/tmp \
 && chown -R model-server /home/model-server
ENV TEMP=/home/model-server/tmp
USER model-server
WORKDIR /home/model-server
EXPOSE 8080 8081 8082 7070 7071
CMD ["torchserve", "--start", "--foreground", "--model-store", "/home/model-server/model-store"]
