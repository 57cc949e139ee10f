import Hummingbird
import Logging
import PCastCluster
import PCastCore
import PCastDatabase
import PCastIO
import PCastJWT

/// The requests about the platform: its applications and limits, and draining it. They are for the application that
/// administers the platform. The audit log is for each application.
extension ManagementAPI {
    private struct PlatformDescription: Encodable {
        let status = "ok"
        let applicationId: String
        let role: String
        /// Whether the application administers the platform.
        let administersPlatform: Bool
        /// Whether the platform accepts no new clients.
        let draining: Bool
        /// The name of the node in a cluster; nil for none.
        let node: String?
    }

    func describePlatform(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        ApplicationAnswer.json(
            PlatformDescription(
                applicationId: request.application.description, role: request.role.rawValue,
                administersPlatform: administration.isAdministrator(request.application),
                draining: limiter.isDraining || cluster?.isDraining == true, node: cluster?.cluster.node.name))
    }

    /// Checks that the application of a request administers the platform.
    ///
    /// - Throws: ``ApplicationFailure`` otherwise.
    private func checkAdministrator(_ request: ApplicationRequest) throws(ApplicationFailure) {
        guard !administration.isAdministrator(request.application) else { return }
        throw ApplicationFailure(
            .forbidden, "forbidden",
            "The application “\(request.application)” does not administer the platform: use the one of --administrator."
        )
    }

    private func failure(_ failure: PlatformAdministration.Failure) -> ApplicationFailure {
        switch failure {
        case .exists: return .conflict("There is an application with this identifier: use another one.")
        case .configured:
            return .conflict("The application is one of the configuration: change it there, and reload the platform.")
        case .unknown: return .notFound
        case .full:
            return .conflict(
                "The platform has \(PlatformAdministration.maximumApplications) added applications, which is the maximum: "
                    + "remove one first.")
        case .busy: return .conflict("Another change is in progress: retry.")
        case .records(let error):
            logger.error("change of the platform not stored", metadata: ["error": "\(error)"])
            return .records
        }
    }

    // MARK: Applications

    private struct ApplicationDescription: Encodable {
        let applicationId: String
        /// Whether the configuration contains it. Otherwise the management API has added it.
        let configured: Bool
        let administersPlatform: Bool
        let streams: Int
        let viewers: Int
    }

    private struct ApplicationList: Encodable {
        let status = "ok"
        let applications: [ApplicationDescription]
    }

    private struct ApplicationSecret: Encodable {
        let status = "ok"
        let applicationId: String
        /// The secret, which no other response contains.
        let secret: String
    }

    func listApplications(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        let counts = await directory.countsOfApplications
        let applications = await administration.descriptions.map { application in
            ApplicationDescription(
                applicationId: application.id.description, configured: application.isConfigured,
                administersPlatform: administration.isAdministrator(application.id),
                streams: counts[application.id]?.streams ?? 0, viewers: counts[application.id]?.viewers ?? 0)
        }
        return ApplicationAnswer.json(ApplicationList(applications: applications))
    }

    /// Adds an application. Its secret is in this response only.
    ///
    /// - Throws: ``ApplicationFailure``.
    func addApplication(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        let id = try request.part("application")
        guard CallbackText.isName(id) else {
            throw .badRequest(
                "The application's identifier is invalid: use 1 to 64 letters, digits, dashes and underscores.")
        }
        do throws(PlatformAdministration.Failure) {
            let secret = try await administration.add(ApplicationID(id))
            return ApplicationAnswer.json(ApplicationSecret(applicationId: id, secret: secret))
        } catch {
            throw failure(error)
        }
    }

    /// Replaces the secret of an added application. Its streams continue, and tokens with the former secret are rejected.
    ///
    /// - Throws: ``ApplicationFailure``.
    func rotateApplication(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        let id = ApplicationID(try request.part("application"))
        let secret: String
        do throws(PlatformAdministration.Failure) {
            secret = try await administration.rotate(id)
        } catch {
            throw failure(error)
        }
        await access.revokeSecret(of: id)
        return ApplicationAnswer.json(ApplicationSecret(applicationId: id.description, secret: secret))
    }

    /// Removes an added application: its credentials, tokens and stream keys are rejected, its streams end, and its
    /// declared streams are switched off. Its data remain.
    ///
    /// - Throws: ``ApplicationFailure``.
    func removeApplication(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        let id = ApplicationID(try request.part("application"))
        do throws(PlatformAdministration.Failure) {
            try await administration.remove(id)
        } catch {
            throw failure(error)
        }
        await access.revokeAll(of: id)
        return ApplicationAnswer.done
    }

    // MARK: Limits

    private struct LimitDescription: Encodable {
        let name: String
        let value: Int64
        /// The value of the configuration.
        let configured: Int64
        /// Whether the management API has set the value.
        let changed: Bool
        /// `bit/s`, `per second`, or nil for a number of clients.
        let unit: String?
        /// The number of requests that were rejected because of the limit.
        let rejected: Int

        init(_ limit: PlatformAdministration.Limit, rejected: Int) {
            name = limit.name.rawValue
            (value, configured, changed) = (limit.value, limit.configured, limit.isChanged)
            unit = limit.name.isBitrate ? "bit/s" : limit.name.rawValue.hasSuffix("-per-second") ? "per second" : nil
            self.rejected = rejected
        }
    }

    private struct LimitList: Encodable {
        let status = "ok"
        let limits: [LimitDescription]
    }

    private struct LimitRequest: Decodable {
        let value: Int64
    }

    func listLimits(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        let counts = limiter.counts
        let limits = await administration.limitDescriptions.map {
            LimitDescription($0, rejected: counts.count($0.name))
        }
        return ApplicationAnswer.json(LimitList(limits: limits))
    }

    /// Changes a limit for later requests.
    ///
    /// - Throws: ``ApplicationFailure``.
    func setLimit(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        let name = try Self.limitName(request)
        let value = try request.decoded(LimitRequest.self).value
        guard (0...PlatformAdministration.maximumLimit).contains(value) else {
            throw .badRequest("“value” is invalid: send a number from 0 to \(PlatformAdministration.maximumLimit).")
        }
        return try await set(name, value, request)
    }

    /// Returns a limit to the value of the configuration.
    ///
    /// - Throws: ``ApplicationFailure``.
    func resetLimit(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        return try await set(try Self.limitName(request), nil, request)
    }

    private func set(
        _ name: PlatformLimits.Name, _ value: Int64?, _ request: ApplicationRequest
    ) async throws(ApplicationFailure) -> Response {
        do throws(PlatformAdministration.Failure) {
            try await administration.set(name, value)
        } catch {
            throw failure(error)
        }
        if name.isBitrate { await directory.shareBitrate() }
        return try await listLimits(request)
    }

    private static func limitName(_ request: ApplicationRequest) throws(ApplicationFailure) -> PlatformLimits.Name {
        guard let name = PlatformLimits.Name(rawValue: try request.part("name")) else { throw .notFound }
        return name
    }

    // MARK: Draining

    /// Rejects new clients until ``acceptClients(_:)``. A node of a cluster sends them to other nodes instead.
    ///
    /// - Throws: ``ApplicationFailure``.
    func drain(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        if let cluster {
            _ = cluster.drain(cluster.cluster.node.name)
        } else {
            limiter.setPaused(true)
            logger.notice("the platform drains: new clients are rejected")
        }
        return try await describePlatform(request)
    }

    func acceptClients(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        try checkAdministrator(request)
        cluster?.cluster.setDraining(false)
        limiter.setPaused(false)
        logger.notice("the platform accepts new clients again")
        return try await describePlatform(request)
    }

    // MARK: Audit log

    private struct AuditEntries: Encodable {
        let status = "ok"
        let entries: [AuditLog.Entry]
    }

    /// Returns the newest changes that were requested by this interface: those of all applications for the one that
    /// administers the platform.
    ///
    /// - Throws: ``ApplicationFailure``.
    func listChanges(_ request: ApplicationRequest) async throws(ApplicationFailure) -> Response {
        let length = try request.number("length", 1...Int64(AuditLog.recentCapacity), default: 100)
        let isAdministrator = administration.isAdministrator(request.application)
        let entries = audit.recent(of: isAdministrator ? nil : request.application, length: Int(length))
        return ApplicationAnswer.json(AuditEntries(entries: entries))
    }
}
