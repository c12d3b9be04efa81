import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.js';
import { start } from './cluster.cjs';

// What requests in flight get to end after SIGTERM.
const GRACE_MS = 2000;

start(async () => {
  const app = await NestFactory.create<NestFastifyApplication>(AppModule, new FastifyAdapter(), {
    // Nothing at the start and nothing per request.
    logger: ['error', 'fatal'],
  });
  process.on('SIGTERM', () => {
    app.close().then(() => process.exit(0));
    setTimeout(() => process.exit(0), GRACE_MS);
  });
  await app.listen(Number(process.env.PORT) || 8080, process.env.HOST || '127.0.0.1');
});
