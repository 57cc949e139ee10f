import PCastCore
import PCastDatabase
import PCastIO

/// The changes of the configuration that the management API makes: applications, and limits.
///
/// They are stored in the database, and are added to the configuration at each start and reload. An application of the
/// configuration can only be changed there. A stored limit takes precedence over that of the configuration.
actor PlatformAdministration {
    /// The reason why a change is rejected.
    enum Failure: Error {
        /// An application with the identifier exists.
        case exists
        /// The application is one of the configuration.
        case configured
        /// There is no such application.
        case unknown
        /// There are too many applications.
        case full
        /// Another change is in progress.
        case busy
        case records(RecordsError)
    }

    /// An application without its secret.
    struct Description: Hashable, Sendable {
        let id: ApplicationID
        /// Whether the configuration contains it.
        let isConfigured: Bool
    }

    /// A limit of the platform.
    struct Limit: Hashable, Sendable {
        let name: PlatformLimits.Name
        let value: Int64
        /// The value of the configuration.
        let configured: Int64
        /// Whether the management API has set it.
        let isChanged: Bool
    }

    /// The maximum number of added applications.
    static let maximumApplications = 1_000
    /// The maximum value of a limit.
    static let maximumLimit: Int64 = 1_000_000_000_000

    /// The application that administers the platform; nil for none.
    private nonisolated let administrator: Setting<ApplicationID?>
    /// The administrator that the configuration names.
    private var namedAdministrator: ApplicationID?
    private let records: Records
    private let authenticator: TokenAuthenticator
    private let limiter: RequestLimiter
    private var configured: [PlatformConfiguration.Application]
    private var added: [PlatformConfiguration.Application]
    private var configuredLimits: PlatformLimits
    private var changedLimits: [PlatformLimits.Name: Int64]
    private var isChanging = false
    /// The reloads that wait for the end of a change.
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Creates the administration of a platform, and applies the stored changes to its parts.
    ///
    /// - Throws: `RecordsError`.
    init(
        _ configuration: PlatformConfiguration, applications: [PlatformConfiguration.Application], records: Records,
        authenticator: TokenAuthenticator, limiter: RequestLimiter
    ) async throws(RecordsError) {
        configured = applications
        configuredLimits = configuration.limits
        namedAdministrator = configuration.administrator
        self.records = records
        self.authenticator = authenticator
        self.limiter = limiter
        administrator = Setting(Self.administrator(configuration.administrator, applications))
        added = try await records.addedApplications().map { .init(id: $0.id, secret: $0.secret) }
        // A limit that a later version has stored is ignored.
        changedLimits = [:]
        for (name, value) in try await records.platformLimits() {
            if let name = PlatformLimits.Name(rawValue: name) { changedLimits[name] = value }
        }
        authenticator.change(configured, added: added)
        limiter.change(limits: limits)
    }

    /// Returns the application that administers the platform: the named one, or the only one of the configuration.
    private static func administrator(
        _ named: ApplicationID?, _ applications: [PlatformConfiguration.Application]
    ) -> ApplicationID? {
        named ?? (applications.count == 1 ? applications[0].id : nil)
    }

    /// Returns whether an application administers the platform.
    nonisolated func isAdministrator(_ application: ApplicationID) -> Bool { administrator.value == application }

    // MARK: Configuration

    /// Replaces the applications of the configuration. A change by the management API that is in progress ends before, so
    /// that the database and the memory have the same applications.
    ///
    /// - Returns: The applications whose former secret is not valid any more.
    /// - Throws: `RecordsError`. Then nothing has changed.
    func configure(
        _ applications: [PlatformConfiguration.Application]
    ) async throws(RecordsError) -> Set<ApplicationID> {
        while isChanging { await withCheckedContinuation { waiting.append($0) } }
        beginChange()
        defer { endChange() }
        try await records.setApplications(
            applications.map { .init(id: $0.id, secret: $0.secret) }, at: MonotonicClock.wallTime())
        configured = applications
        added.removeAll { application in applications.contains { $0.id == application.id } }
        administrator.value = Self.administrator(namedAdministrator, applications)
        return authenticator.change(configured, added: added)
    }

    /// Reads the added applications from the database again, because another node of the cluster has changed them.
    ///
    /// - Throws: `RecordsError`. Then nothing has changed.
    func reloadAdded() async throws(RecordsError) {
        while isChanging { await withCheckedContinuation { waiting.append($0) } }
        beginChange()
        defer { endChange() }
        added = try await records.addedApplications().map { .init(id: $0.id, secret: $0.secret) }
        authenticator.change(configured, added: added)
    }

    /// Returns whether an application is one of the configuration, which other nodes do not change.
    func isConfigured(_ application: ApplicationID) -> Bool { configured.contains { $0.id == application } }

    /// Replaces the administrator that the configuration names.
    func setAdministrator(_ named: ApplicationID?) {
        namedAdministrator = named
        administrator.value = Self.administrator(named, configured)
    }

    /// Replaces the limits of the configuration.
    func configure(_ limits: PlatformLimits) {
        configuredLimits = limits
        limiter.change(limits: self.limits)
    }

    /// All applications.
    private var applications: [PlatformConfiguration.Application] { configured + added }

    private var limits: PlatformLimits {
        var limits = configuredLimits
        for (name, value) in changedLimits { limits[name] = value }
        return limits
    }

    // MARK: Changes

    /// All applications, in the order of their identifiers.
    var descriptions: [Description] {
        (configured.map { Description(id: $0.id, isConfigured: true) }
            + added.map { Description(id: $0.id, isConfigured: false) }).sorted {
                $0.id.description < $1.id.description
            }
    }

    /// Adds an application. Returns its secret.
    ///
    /// - Throws: ``Failure``.
    func add(_ id: ApplicationID) async throws(Failure) -> String {
        guard !applications.contains(where: { $0.id == id }) else { throw .exists }
        guard added.count < Self.maximumApplications else { throw .full }
        return try await store(id)
    }

    /// Replaces the secret of an added application, and returns the new one. Tokens with the former one become invalid.
    ///
    /// - Throws: ``Failure``.
    func rotate(_ id: ApplicationID) async throws(Failure) -> String {
        try checkAdded(id)
        return try await store(id)
    }

    /// Removes an added application, whose credentials and tokens are not valid any more.
    ///
    /// - Throws: ``Failure``.
    func remove(_ id: ApplicationID) async throws(Failure) {
        try checkAdded(id)
        try beginOnlyChange()
        defer { endChange() }
        try await write { records throws(RecordsError) in try await records.removeAddedApplication(id) }
        added.removeAll { $0.id == id }
        authenticator.change(configured, added: added)
    }

    /// All limits, in their order.
    var limitDescriptions: [Limit] {
        let current = limits
        return PlatformLimits.Name.allCases.map { name in
            Limit(
                name: name, value: current[name], configured: configuredLimits[name],
                isChanged: changedLimits[name] != nil)
        }
    }

    /// Changes a limit; nil returns it to the value of the configuration.
    ///
    /// - Throws: ``Failure``.
    func set(_ name: PlatformLimits.Name, _ value: Int64?) async throws(Failure) {
        try beginOnlyChange()
        defer { endChange() }
        try await write { records throws(RecordsError) in
            try await records.setPlatformLimit(name.rawValue, value)
        }
        changedLimits[name] = value
        limiter.change(limits: limits)
    }

    private func checkAdded(_ id: ApplicationID) throws(Failure) {
        guard !configured.contains(where: { $0.id == id }) else { throw .configured }
        guard added.contains(where: { $0.id == id }) else { throw .unknown }
    }

    private func store(_ id: ApplicationID) async throws(Failure) -> String {
        try beginOnlyChange()
        defer { endChange() }
        let secret = Self.makeSecret()
        try await write { records throws(RecordsError) in
            try await records.setAddedApplication(
                ApplicationRecord(id: id, secret: secret), at: MonotonicClock.wallTime())
        }
        added.removeAll { $0.id == id }
        added.append(.init(id: id, secret: secret))
        authenticator.change(configured, added: added)
        return secret
    }

    /// Begins a change unless another one is in progress.
    ///
    /// - Throws: ``Failure/busy``.
    private func beginOnlyChange() throws(Failure) {
        guard !isChanging else { throw .busy }
        beginChange()
    }

    private func beginChange() { isChanging = true }

    private func endChange() {
        isChanging = false
        let resumed = waiting
        waiting = []
        for continuation in resumed { continuation.resume() }
    }

    /// Writes a change to the database.
    private func write(
        _ operation: @Sendable (Records) async throws(RecordsError) -> Void
    ) async throws(Failure) {
        do throws(RecordsError) {
            try await operation(records)
        } catch {
            throw .records(error)
        }
    }

    /// Returns a secret of 256 random bits in hexadecimal digits.
    private static func makeSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<4).map { _ in
            let digits = String(UInt64.random(in: .min ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
