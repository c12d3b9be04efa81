using System;
using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace Service
{
    /// <summary>hello, sequence, snoop and events on Kestrel, without a framework above it.</summary>
    public static class Program
    {
        public static void Main()
        {
            var host = IPAddress.Parse(Variable("HOST", "127.0.0.1"));
            var port = int.Parse(Variable("PORT", "8080"));
            var workers = int.Parse(Variable("WORKERS", Environment.ProcessorCount.ToString()));

            new HostBuilder()
                .ConfigureServices(services => services.Configure<HostOptions>(options =>
                    options.ShutdownTimeout = TimeSpan.FromSeconds(5)))
                .ConfigureWebHost(web => web
                    .UseKestrel(options =>
                    {
                        options.Listen(host, port);
                        // The default, 100, has no room for Host beside 100 headers.
                        options.Limits.MaxRequestHeaderCount = 200;
                    })
                    .UseSockets(options => options.IOQueueCount = workers)
                    .Configure(app => app.Run(context =>
                        context.Request.Path == "/events" ? Events.Answer(context) : Api.Answer(context))))
                .Build()
                .Run();
        }

        private static string Variable(string name, string otherwise) =>
            Environment.GetEnvironmentVariable(name) ?? otherwise;
    }
}
