-- One random code per request, after random pauses. Arguments: seed, and the mean pause in milliseconds.
local digits = "0123456789abcdef"
local request_headers = { ["Content-Type"] = "application/json" }
local pause = 10

function init(args)
  math.randomseed(tonumber(args[1] or "1"))
  pause = tonumber(args[2] or "10")
end

function delay()
  return math.floor(-pause * math.log(1 - math.random()) + 0.5)
end

function request()
  local code = {}
  for i = 1, 16 do
    local n = math.random(16)
    code[i] = digits:sub(n, n)
  end
  local body = '{"code":"' .. table.concat(code) .. '","into":"x","k":10}'
  return wrk.format("POST", "/v1/search", request_headers, body)
end
