using System.Linq;
using System.Numerics;
using System.Text;

namespace Service
{
    /// <summary>The numbers of the sequence contract, joined with one space.</summary>
    public static class Sequence
    {
        /// <summary>1 to n.</summary>
        public static string Count(int n) => string.Join(' ', Enumerable.Range(1, n));

        /// <summary>F(0) to F(n).</summary>
        public static string Fib(int n)
        {
            var text = new StringBuilder("0");
            BigInteger a = 0, b = 1;
            for (var i = 1; i <= n; i++)
            {
                text.Append(' ').Append(b);
                (a, b) = (b, a + b);
            }
            return text.ToString();
        }
    }
}
