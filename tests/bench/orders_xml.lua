-- The orders of orders.lua as XML of 1 KiB.
local ffi = require("ffi")
ffi.cdef [[
  struct bench_time { long seconds, nanoseconds; };
  int clock_gettime(int clock, struct bench_time *at);
]]
local BODY_BYTES, MONOTONIC, LANES = 1024, 1, 64
local ORDER = '<order seq="%010d" lane="%02d" sent="%019.0f" from="s%d" to="s0" kind="t%d">'
local LINES = '<lines currency="EUR"><line sku="A-1001" quantity="12" price="19.90"/>'
  .. '<line sku="B-2040" quantity="3" price="249.00"/></lines><note>'
local filling, head
local time = ffi.new("struct bench_time")
local count = 0

function init(args)
  local fixed = #string.format(ORDER, 0, 0, 0, 0, 0) + #LINES + #"</note></order>"
  filling = LINES .. string.rep("x", BODY_BYTES - fixed) .. "</note></order>"
  wrk.method = "POST"
  wrk.body = string.rep("x", BODY_BYTES)
  wrk.headers["Content-Type"] = "application/xml"
  head = wrk.format():match("^(.-\r\n\r\n)")
end

function request()
  ffi.C.clock_gettime(MONOTONIC, time)
  local sent = tonumber(time.seconds) * 1e9 + tonumber(time.nanoseconds)
  local order = string.format(ORDER, count, count % LANES, sent, count % 10, math.floor(count / 10) % 10)
  count = count + 1
  return head .. order .. filling
end
