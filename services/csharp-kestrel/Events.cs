using System;
using System.Diagnostics;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;

namespace Service
{
    /// <summary>Numbered events, each sent when its time has come.</summary>
    public static class Events
    {
        public static async Task Answer(HttpContext context)
        {
            var response = context.Response;
            if (!HttpMethods.IsGet(context.Request.Method))
            {
                response.StatusCode = StatusCodes.Status405MethodNotAllowed;
                return;
            }
            var query = context.Request.Query;
            if (!Number(query["count"], 1, 10_000, out var count) || !Number(query["gap_us"], 0, 1_000_000, out var gapUs))
            {
                response.StatusCode = StatusCodes.Status400BadRequest;
                return;
            }
            response.ContentType = "text/event-stream";
            response.Headers["Cache-Control"] = "no-cache";
            var left = context.RequestAborted;
            try
            {
                for (var n = 1; n <= count; n++)
                {
                    if (n > 1 && gapUs > 0) await Pause(TimeSpan.FromTicks(gapUs * TimeSpan.TicksPerMillisecond / 1000), left);
                    await response.WriteAsync($"id: {n}\nevent: tick\ndata: {{\"n\":{n},\"of\":{count}}}\n\n", left);
                    await response.Body.FlushAsync(left);
                    left.ThrowIfCancellationRequested();
                }
                await response.WriteAsync("event: end\ndata: bye\n\n", left);
            }
            catch (OperationCanceledException)
            {
                // The client has left: nothing goes on for it.
            }
        }

        /// <summary>Task.Delay counts whole milliseconds, and may be early.</summary>
        private static async Task Pause(TimeSpan time, CancellationToken left)
        {
            var watch = Stopwatch.StartNew();
            while (watch.Elapsed < time)
            {
                var rest = (time - watch.Elapsed).TotalMilliseconds;
                await Task.Delay((int)Math.Max(1, Math.Ceiling(rest)), left);
            }
        }

        private static bool Number(StringValues text, int least, int most, out int number)
        {
            number = -1;
            foreach (var digit in text.ToString())
            {
                if (digit < '0' || digit > '9') return false;
            }
            return int.TryParse(text.ToString(), out number) && least <= number && number <= most;
        }
    }
}
