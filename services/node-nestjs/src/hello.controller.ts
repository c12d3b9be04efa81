import { Controller, Get, Header } from '@nestjs/common';

@Controller('api')
export class HelloController {
  @Get('test')
  @Header('Content-Type', 'text/plain')
  hello(): string {
    return 'Hello, World!';
  }
}
