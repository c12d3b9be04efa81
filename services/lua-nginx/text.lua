local text = {}

function text.reply(body)
    local method = ngx.req.get_method()
    if method ~= "GET" and method ~= "HEAD" then
        return ngx.exit(ngx.HTTP_NOT_ALLOWED)
    end
    -- Without a length the reply is sent in chunks.
    ngx.header.content_length = #body
    ngx.print(body)
end

return text
