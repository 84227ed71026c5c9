-- One document of 1 KiB, the same request again and again.  $WAYBILL_KEY is the sender's key.
wrk.method = "POST"
wrk.body = string.rep("x", 1024)
wrk.headers["Content-Type"] = "application/octet-stream"
wrk.headers["Authorization"] = "Bearer " .. (os.getenv("WAYBILL_KEY") or "none")
