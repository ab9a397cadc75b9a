-- One random code of 64 bits per request.
local digits = "0123456789abcdef"
local request_headers = { ["Content-Type"] = "application/json" }

function init(args)
  math.randomseed(tonumber(args[1] or "1"))
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
