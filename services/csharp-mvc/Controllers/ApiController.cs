using System.Linq;
using System.Net;
using Microsoft.AspNetCore.Mvc;

namespace Service.Controllers
{
    [ApiController]
    public class ApiController : ControllerBase
    {
        /// <summary>An integer from 0 to 10,000: anything else does not match the route, so it is a 404.</summary>
        private const string N = @"{n:regex(^(10000|[[0-9]]{{1,4}})\z)}";

        [HttpGet("/api/test")]
        public ContentResult Hello() => Content("Hello, World!", "text/plain");

        [HttpGet("/api/count/" + N)]
        public ContentResult Count(int n) => Content(Sequence.Count(n), "text/plain");

        [HttpGet("/api/fib/" + N)]
        public ContentResult Fib(int n) => Content(Sequence.Fib(n), "text/plain");

        [HttpGet("/")]
        public ContentResult Snoop()
        {
            var lines =
                from header in Request.Headers
                from value in header.Value
                select $"HEADER: {WebUtility.HtmlEncode(header.Key.ToLowerInvariant())} = {WebUtility.HtmlEncode(value)}";
            var page = "<!DOCTYPE html>\n<title>Snoop</title>\n<pre>\n" + string.Join("\n", lines) + "\n</pre>\n";
            return Content(page, "text/html; charset=utf-8");
        }
    }
}
