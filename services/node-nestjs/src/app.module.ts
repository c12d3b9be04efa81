import { Module } from '@nestjs/common';
import { HelloController } from './hello.controller.js';
import { SequenceController } from './sequence.controller.js';

@Module({ controllers: [HelloController, SequenceController] })
export class AppModule {}
