import FoundationEssentials
import Logging
import PCastCore
import PCastIO
import PCastJWT
import PCastWeb
import Synchronization

/// The issuer of JSON Web Tokens that the platform trusts beside EdgeAuth.
public struct TokenIssuerConfiguration: Hashable, Sendable {
    /// The public keys (JWK Set, RFC 7517): the path of a file, or a URI with `https`, or with `http` of this host.
    public var keys: String
    /// The required claim `iss`.
    public var issuer: String
    /// The value that the claim `aud` must contain.
    public var audience: String

    /// Creates the configuration of an issuer.
    public init(keys: String, issuer: String, audience: String) {
        (self.keys, self.issuer, self.audience) = (keys, issuer, audience)
    }

    /// Whether the keys are requested over HTTP, and not read from a file.
    var isRemote: Bool { keys.contains("://") }

    /// The reason why the configuration cannot be used, with its remedy; nil if there is none.
    package var problem: String? {
        guard !keys.isEmpty, !issuer.isEmpty, !audience.isEmpty else {
            return "JSON Web Tokens need keys, issuer and audience: set all of them"
        }
        guard isRemote else { return nil }
        guard let address = try? WebAddress(keys), keys.utf8.starts(with: "http".utf8) else {
            return "the address of the key set is invalid: give one such as https://login.example.com/jwks.json"
        }
        let isLocal = address.host == "localhost" || IPAddress(address.host)?.isLoopback == true
        guard address.isSecure || isLocal else {
            return "the key set must be requested over HTTPS, so that nobody can replace it: give an https address"
        }
        return nil
    }
}

/// Verifies the tokens of an issuer by its keys, which are kept in memory.
///
/// The keys are requested again every five minutes, and when a token names an unknown key, but at most every ten
/// seconds. If they cannot be read, the last ones are used for up to a day.
final class TokenIssuer: Sendable {
    /// Reads the bytes of a key set.
    typealias Reader = @Sendable (TokenIssuerConfiguration) async throws -> [UInt8]

    static let refreshInterval = Duration.seconds(300)
    static let minimumInterval = TimeSpan.seconds(10 as Int64)
    static let maximumAge = TimeSpan.seconds(24 * 3_600 as Int64)
    /// The maximum duration of a request.
    private static let timeLimit = Duration.seconds(5)
    private static let maximumRedirections = 3

    private struct State {
        var keys: JSONWebKeySet?
        /// The time at which the keys were read.
        var read: Instant?
        /// The time of the last attempt to read them.
        var attempt: Instant?
        var reading: Task<Void, Never>?
        /// The last failure, which is logged once.
        var failure: String?
    }

    private let configuration: TokenIssuerConfiguration
    private let policy: JSONWebTokenPolicy
    /// The permitted difference between the clocks of the issuer and of this platform.
    var leeway: TimeSpan { policy.leeway }
    private let reader: Reader
    private let logger: Logger
    private let state = Mutex(State())

    init(_ configuration: TokenIssuerConfiguration, logger: Logger, reader: @escaping Reader = TokenIssuer.bytes) {
        self.configuration = configuration
        policy = JSONWebTokenPolicy(issuer: configuration.issuer, audience: configuration.audience)
        self.logger = logger
        self.reader = reader
    }

    /// Reads the keys before the first request. An issuer that cannot be reached is requested again later.
    ///
    /// - Throws: ``PlatformError/keySet(_:)`` if the configuration or the file cannot be used.
    func open() async throws(PlatformError) {
        if let problem = configuration.problem { throw .keySet(problem) }
        await read(at: MonotonicClock.now())
        let failure = state.withLock { $0.keys == nil ? $0.failure : nil }
        if let failure, !configuration.isRemote { throw .keySet(failure) }
    }

    /// Reads the keys periodically, until the task is cancelled.
    func run() async {
        while (try? await Task.sleep(for: Self.refreshInterval)) != nil { await read(at: MonotonicClock.now()) }
    }

    /// Reads the keys again if a text is a token of an unknown key, unless they were read in the last ten seconds.
    nonisolated(nonsending) func refresh(for encoded: String?, at now: Instant) async {
        guard let encoded, needsRefresh(for: encoded, at: now) else { return }
        await read(at: now)
    }

    private func needsRefresh(for encoded: String, at now: Instant) -> Bool {
        guard JSONWebToken.hasForm(of: encoded), let token = try? JSONWebToken(encoded) else { return false }
        return state.withLock { state in
            if let keys = state.keys, keys.hasKey(for: token) { return false }
            // Those who wait for the same keys share a request.
            if state.reading != nil { return true }
            return state.attempt.map { now - $0 >= Self.minimumInterval } ?? true
        }
    }

    /// Verifies a token, and returns what it grants.
    ///
    /// - Throws: ``JSONWebTokenError``.
    func grants(
        of encoded: String, at now: Instant, wallTime: WallTime
    ) throws(JSONWebTokenError) -> JSONWebTokenGrants {
        let token = try JSONWebToken(encoded)
        let keys = state.withLock { state in
            state.read.map { now - $0 <= Self.maximumAge } == true ? state.keys : nil
        }
        guard let keys else { throw .unknownKey }
        return try policy.grants(of: token, by: keys, at: wallTime)
    }

    /// Reads the keys. Concurrent calls share the result.
    private func read(at now: Instant) async {
        let task = state.withLock { state in
            if let reading = state.reading { return reading }
            state.attempt = now
            let task = Task { await self.replaceKeys(at: now) }
            state.reading = task
            return task
        }
        await task.value
    }

    private func replaceKeys(at now: Instant) async {
        let result: Result<JSONWebKeySet, any Error>
        do {
            result = .success(try await JSONWebKeySet(try await reader(configuration)))
        } catch {
            result = .failure(error)
        }
        state.withLock { state in
            state.reading = nil
            switch result {
            case .success(let keys): (state.keys, state.read, state.failure) = (keys, now, nil)
            case .failure(let error):
                let text = "\(error)"
                guard state.failure != text else { return }
                state.failure = text
                logger.error(
                    "the keys of JSON Web Tokens cannot be read, and the last ones remain valid for a day",
                    metadata: ["keys": "\(configuration.keys)", "reason": "\(text)"])
            }
        }
    }

    /// Reads a file, or requests a URI.
    private static func bytes(_ configuration: TokenIssuerConfiguration) async throws -> [UInt8] {
        guard configuration.isRemote else {
            guard let data = FileManager.default.contents(atPath: configuration.keys) else {
                throw KeySetFailure(description: "the file “\(configuration.keys)” cannot be read: check its path")
            }
            return Array(data)
        }
        var uri = configuration.keys
        for _ in 0...maximumRedirections {
            let answer = try await HTTPRequests.send(
                "GET", uri, headers: [(name: "Accept", value: "application/json")], within: timeLimit,
                followsRedirections: false)
            if answer.status == 200 { return answer.body }
            guard [301, 302, 303, 307, 308].contains(answer.status), let location = answer.location else {
                throw KeySetFailure(description: "the server of the key set responds with the status \(answer.status)")
            }
            uri = try redirection(to: location, from: uri)
        }
        throw KeySetFailure(
            description: "the server of the key set redirects too often: give the address to which it redirects")
    }

    /// Returns the address to which the server of the keys redirects a request.
    ///
    /// - Parameters:
    ///   - location: The value of `Location`, which may be relative.
    ///   - uri: The address of the request.
    /// - Returns: The address.
    /// - Throws: An error unless both addresses have the scheme `https`, so that nobody can replace the keys.
    static func redirection(to location: String, from uri: String) throws -> String {
        let target = URL(string: uri).flatMap { URL(string: location, relativeTo: $0)?.absoluteString }
        guard let target, [uri, target].allSatisfy({ $0.lowercased().hasPrefix("https://") }),
            (try? WebAddress(target)) != nil
        else {
            throw KeySetFailure(
                description: "the server of the key set redirects, and not from https to https: give the last address")
        }
        return target
    }
}

/// The reason why the bytes of a key set cannot be read.
private struct KeySetFailure: Error, CustomStringConvertible {
    let description: String
}
