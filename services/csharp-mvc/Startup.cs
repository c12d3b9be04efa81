using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;

namespace Service
{
    public class Startup
    {
        public void ConfigureServices(IServiceCollection services) => services.AddControllers();

        public void Configure(IApplicationBuilder app)
        {
            app.Use(OnlyLowerCase);
            app.UseRouting();
            app.UseEndpoints(endpoints => endpoints.MapControllers());
        }

        /// <summary>Routes ignore the case of a path. Those of the contracts are in lower case.</summary>
        private static Task OnlyLowerCase(HttpContext context, System.Func<Task> next)
        {
            foreach (var character in context.Request.Path.Value)
            {
                if (char.IsUpper(character))
                {
                    context.Response.StatusCode = StatusCodes.Status404NotFound;
                    return Task.CompletedTask;
                }
            }
            return next();
        }
    }
}
