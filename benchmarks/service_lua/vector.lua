-- 128 random numbers per request.
local request_headers = { ["Content-Type"] = "application/json" }

function init(args)
  math.randomseed(tonumber(args[1] or "1"))
end

function request()
  local numbers = {}
  for i = 1, 128 do
    numbers[i] = string.format("%.6f", 2 * math.random() - 1)
  end
  local body = '{"vector":[' .. table.concat(numbers, ",") .. '],"modality":"x","into":"x","k":10}'
  return wrk.format("POST", "/v1/search", request_headers, body)
end
