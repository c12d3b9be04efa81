using System.Linq;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;

namespace Service
{
    public static class Api
    {
        private static readonly Regex Sequences =
            new Regex(@"\A/api/(count|fib)/(10000|[0-9]{1,4})\z", RegexOptions.Compiled | RegexOptions.CultureInvariant);

        public static Task Answer(HttpContext context)
        {
            var path = context.Request.Path.Value;
            switch (path)
            {
                case "/api/test":
                    return Send(context, "text/plain", "Hello, World!");
                case "/":
                    return Send(context, "text/html; charset=utf-8", Snoop(context.Request.Headers));
            }
            var match = Sequences.Match(path);
            if (!match.Success)
            {
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                return Task.CompletedTask;
            }
            var n = int.Parse(match.Groups[2].Value);
            return Send(context, "text/plain", match.Groups[1].Value == "fib" ? Sequence.Fib(n) : Sequence.Count(n));
        }

        /// <summary>Kestrel leaves the body out of an answer to HEAD.</summary>
        private static Task Send(HttpContext context, string type, string body)
        {
            if (!HttpMethods.IsGet(context.Request.Method) && !HttpMethods.IsHead(context.Request.Method))
            {
                context.Response.StatusCode = StatusCodes.Status405MethodNotAllowed;
                return Task.CompletedTask;
            }
            context.Response.ContentType = type;
            context.Response.ContentLength = Encoding.UTF8.GetByteCount(body);
            return context.Response.WriteAsync(body);
        }

        private static string Snoop(IHeaderDictionary headers)
        {
            var lines =
                from header in headers
                from value in header.Value
                select $"HEADER: {WebUtility.HtmlEncode(header.Key.ToLowerInvariant())} = {WebUtility.HtmlEncode(value)}";
            return "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" + string.Join("\n", lines) + "\n</pre>\n";
        }
    }
}
