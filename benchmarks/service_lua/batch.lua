-- 100 random codes of 64 bits per request. Arguments: seed, and "arrays" to be answered with ids and distances alone.
local digits = "0123456789abcdef"
local request_headers = { ["Content-Type"] = "application/json" }
local arrays = "false"

function init(args)
  math.randomseed(tonumber(args[1] or "1"))
  if args[2] == "arrays" then
    arrays = "true"
  end
end

function request()
  local codes = {}
  for row = 1, 100 do
    local code = {}
    for i = 1, 16 do
      local n = math.random(16)
      code[i] = digits:sub(n, n)
    end
    codes[row] = '"' .. table.concat(code) .. '"'
  end
  local body = '{"codes":[' .. table.concat(codes, ",") .. '],"into":"x","k":10,"arrays":' .. arrays .. "}"
  return wrk.format("POST", "/v1/search/batch", request_headers, body)
end
