using System;
using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Abstractions.Internal;

namespace Service
{
    /// <summary>hello, sequence and snoop on Kestrel with libuv, whose threads run the requests too.</summary>
    public static class Program
    {
        public static void Main()
        {
            var host = IPAddress.Parse(Variable("HOST", "127.0.0.1"));
            var port = int.Parse(Variable("PORT", "8080"));
            var workers = int.Parse(Variable("WORKERS", Environment.ProcessorCount.ToString()));

            new WebHostBuilder()
                .UseShutdownTimeout(TimeSpan.FromSeconds(5))
                .UseKestrel(options =>
                {
                    options.Listen(host, port);
                    // The default, 100, has no room for Host beside 100 headers.
                    options.Limits.MaxRequestHeaderCount = 200;
                    options.ApplicationSchedulingMode = SchedulingMode.Inline;
                })
                .UseLibuv(options => options.ThreadCount = workers)
                .SuppressStatusMessages(true)
                .Configure(app => app.Run(Api.Answer))
                .Build()
                .Run();
        }

        private static string Variable(string name, string otherwise) =>
            Environment.GetEnvironmentVariable(name) ?? otherwise;
    }
}
