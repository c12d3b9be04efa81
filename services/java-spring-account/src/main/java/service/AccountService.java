package service;

import java.time.Duration;
import java.util.Optional;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;
import tools.jackson.databind.json.JsonMapper;

@Service
public class AccountService {
    private static final Duration LIFETIME = Duration.ofSeconds(1);

    private final JdbcClient database;
    private final StringRedisTemplate cache;
    private final JsonMapper json;

    public AccountService(JdbcClient database, StringRedisTemplate cache, JsonMapper json) {
        this.database = database;
        this.cache = cache;
        this.json = json;
    }

    public Optional<Account> find(long id) {
        String cached = cache.opsForValue().get(key(id));
        if (cached != null) {
            return Optional.of(json.readValue(cached, Account.class));
        }
        Optional<Account> account = database.sql("select id, name, balance_cents from account where id = ?")
                .param(id)
                .query(Account.class)
                .optional();
        // Not in the place of what a deposit has put there meanwhile.
        account.ifPresent(found -> cache.opsForValue().setIfAbsent(key(id), json.writeValueAsString(found), LIFETIME));
        return account;
    }

    @Transactional
    public Optional<Account> deposit(long id, long amount) {
        Optional<Account> account = database.sql("update account set balance_cents = balance_cents + ? where id = ?"
                        + " returning id, name, balance_cents")
                .params(amount, id)
                .query(Account.class)
                .optional();
        // While the row is locked: deposits arrive in the cache in the order of the database.
        account.ifPresent(changed -> cache.opsForValue().set(key(id), json.writeValueAsString(changed), LIFETIME));
        return account;
    }

    private static String key(long id) {
        return "account:" + id;
    }
}
