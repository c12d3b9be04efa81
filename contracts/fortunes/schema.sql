create table fortune (
    id int primary key,
    message text not null
);
