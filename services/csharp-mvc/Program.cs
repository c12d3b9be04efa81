using System;
using System.Net;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Service
{
    /// <summary>hello, sequence and snoop on ASP.NET Core MVC.</summary>
    public static class Program
    {
        public static void Main()
        {
            var host = IPAddress.Parse(Variable("HOST", "127.0.0.1"));
            var port = int.Parse(Variable("PORT", "8080"));
            var workers = int.Parse(Variable("WORKERS", Environment.ProcessorCount.ToString()));

            Host.CreateDefaultBuilder()
                // No log line per request.
                .ConfigureLogging(logging => logging.SetMinimumLevel(LogLevel.Warning))
                .ConfigureServices(services => services.Configure<HostOptions>(options =>
                    options.ShutdownTimeout = TimeSpan.FromSeconds(5)))
                .ConfigureWebHostDefaults(web => web
                    .UseKestrel(options =>
                    {
                        options.Listen(host, port);
                        // The default, 100, has no room for Host beside 100 headers.
                        options.Limits.MaxRequestHeaderCount = 200;
                    })
                    .UseSockets(options => options.IOQueueCount = workers)
                    .UseStartup<Startup>())
                .Build()
                .Run();
        }

        private static string Variable(string name, string otherwise) =>
            Environment.GetEnvironmentVariable(name) ?? otherwise;
    }
}
