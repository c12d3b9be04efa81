module Service.Program

open System
open System.Net
open Microsoft.AspNetCore.Builder
open Microsoft.AspNetCore.Hosting
open Microsoft.Extensions.DependencyInjection
open Microsoft.Extensions.Hosting

let private variable name otherwise =
    match Environment.GetEnvironmentVariable name with
    | null -> otherwise
    | value -> value

[<EntryPoint>]
let main _ =
    let host = IPAddress.Parse(variable "HOST" "127.0.0.1")
    let port = int (variable "PORT" "8080")
    let workers = int (variable "WORKERS" (string Environment.ProcessorCount))

    HostBuilder()
        .ConfigureServices(fun services ->
            services.Configure<HostOptions>(fun (options: HostOptions) ->
                options.ShutdownTimeout <- TimeSpan.FromSeconds 5.0)
            |> ignore)
        .ConfigureWebHost(fun web ->
            web
                .UseKestrel(fun options ->
                    options.Listen(host, port)
                    // The default, 100, has no room for Host beside 100 headers.
                    options.Limits.MaxRequestHeaderCount <- 200)
                .UseSockets(fun options -> options.IOQueueCount <- workers)
                .Configure(fun app -> app.Run(fun context -> Api.answer context))
            |> ignore)
        .Build()
        .Run()

    0
