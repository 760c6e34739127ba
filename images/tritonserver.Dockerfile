# Paths and program of the official image. The Python backend's stub embeds Debian's libpython, and finds the wheels as
# an activated environment is found.
FROM serve-bench/serving:cpu
ENV PATH=/opt/tritonserver/bin:/opt/serving/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    LD_LIBRARY_PATH=/opt/serving/lib/python3.11/site-packages/nvidia_pytriton.libs
WORKDIR /opt/tritonserver
CMD ["tritonserver", "--model-repository=/models"]
