import { BadRequestException, Controller, Get, Header, Param } from '@nestjs/common';
import { count, fib, parse } from './numbers.cjs';

@Controller('api')
export class SequenceController {
  @Get('count/:n')
  @Header('Content-Type', 'text/plain')
  count(@Param('n') n: string): string {
    return count(length(n));
  }

  @Get('fib/:n')
  @Header('Content-Type', 'text/plain')
  fib(@Param('n') n: string): string {
    return fib(length(n));
  }
}

function length(text: string): number {
  const n = parse(text);
  if (n === undefined) throw new BadRequestException('n must be an integer from 0 to 10000');
  return n;
}
