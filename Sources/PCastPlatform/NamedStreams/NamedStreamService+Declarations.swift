import Foundation
import Logging
import PCastCore
import PCastDatabase
import PCastIO

/// The declarations of the configuration and of the management API.
extension NamedStreamService {
    /// The reason why a declaration was not changed.
    enum ChangeFailure: Error {
        case mistake(StreamDeclarations.Mistake)
        case records(RecordsError)
    }

    /// Replaces the declarations of the configuration. Streams whose declaration is unchanged continue, and others end.
    func apply(_ declarations: StreamDeclarations) async {
        await inTurn { service in
            service.configured = declarations
            await service.useDeclarations()
        }
    }

    /// Reads the stored declarations of the management API, before the platform begins.
    ///
    /// - Throws: `RecordsError`.
    func restore() async throws(RecordsError) {
        let applications = Set(authenticator.applicationIDs)
        for record in try await records.declarations() {
            guard let stored = try? JSONDecoder().decode(StoredDeclaration.self, from: Data(record.body)) else {
                logger.warning("stored declaration not read", metadata: ["name": "\(record.name)"])
                continue
            }
            guard applications.contains(record.application) else {
                logger.warning(
                    "stored declaration not used: its application is not configured",
                    metadata: ["name": "\(record.name)", "application": "\(record.application)"])
                continue
            }
            managed[record.name] = stored.declaration(record.name, of: record.application)
        }
        await useDeclarations()
    }

    /// Stores and uses a declaration of the management API.
    ///
    /// - Throws: ``ChangeFailure``.
    func set(_ declaration: StreamDeclaration) async throws(ChangeFailure) {
        let application = application(of: declaration)
        guard let body = try? JSONEncoder().encode(StoredDeclaration(declaration)) else { return }
        let record = DeclarationRecord(application: application, name: declaration.name, body: Array(body))
        let failure: ChangeFailure? = await inTurn { service in
            var changed = service.usable().declarations
            changed[declaration.name] = declaration
            do throws(StreamDeclarations.Mistake) {
                _ = try service.merged(changed)
            } catch {
                return .mistake(error)
            }
            do throws(RecordsError) {
                try await service.records.setDeclaration(record)
            } catch {
                return .records(error)
            }
            service.managed[declaration.name] = declaration
            await service.useDeclarations()
            return nil
        }
        if let failure { throw failure }
    }

    /// Removes a declaration of the management API. Returns false if there is none.
    ///
    /// - Throws: ``ChangeFailure``, also if another declaration needs it.
    func remove(_ name: String, of application: ApplicationID) async throws(ChangeFailure) -> Bool {
        guard let declared = managed[name], self.application(of: declared) == application else { return false }
        let failure: ChangeFailure? = await inTurn { service in
            var changed = service.usable().declarations
            changed[name] = nil
            do throws(StreamDeclarations.Mistake) {
                _ = try service.merged(changed)
            } catch {
                return .mistake(error)
            }
            do throws(RecordsError) {
                try await service.records.removeDeclaration(name)
            } catch {
                return .records(error)
            }
            service.managed[name] = nil
            await service.useDeclarations()
            return nil
        }
        if let failure { throw failure }
        return true
    }

    /// Performs a change of declarations after the changes before it, so that the database and the memory agree.
    private func inTurn<Value: Sendable>(
        _ change: @escaping @Sendable (isolated NamedStreamService) async -> Value
    ) async -> Value {
        let former = lastChange
        let task = Task {
            await former?.value
            return await change(self)
        }
        lastChange = Task { _ = await task.value }
        return await task.value
    }

    /// Returns all declarations with those of the management API.
    ///
    /// - Throws: ``StreamDeclarations/Mistake``.
    private func merged(_ managed: [String: StreamDeclaration]) throws(StreamDeclarations.Mistake) -> StreamDeclarations
    {
        let own = managed.values.sorted { $0.name < $1.name }
        return try StreamDeclarations(own + configured.all.filter { managed[$0.name] == nil })
    }

    /// Returns the declarations of the management API that fit those of the configuration, and the mistakes of the others.
    private func usable() -> (declarations: [String: StreamDeclaration], mistakes: [StreamDeclarations.Mistake]) {
        var usable = managed
        var mistakes: [StreamDeclarations.Mistake] = []
        while true {
            do throws(StreamDeclarations.Mistake) {
                _ = try merged(usable)
                return (usable, mistakes)
            } catch {
                mistakes.append(error)
                guard usable.removeValue(forKey: error.name) != nil else { return ([:], mistakes) }
            }
        }
    }

    /// Uses the declarations that fit each other. The others stay stored, and are used when they fit again.
    private func useDeclarations() async {
        let (usable, mistakes) = usable()
        for mistake in mistakes {
            logger.warning(
                "declaration not used",
                metadata: ["name": "\(mistake.name)", "error": "“\(mistake.key)” \(mistake.reason)"])
        }
        declarations = (try? merged(usable)) ?? configured
        await applyAll()
    }

    /// Lets the streams follow the declarations.
    func applyAll() async {
        guard hasBegun else { return }
        let now = MonotonicClock.now()
        for (name, entry) in entries {
            let declaration = declarations.declaration(of: name)
            guard declaration != entry.declaration || application(of: declaration) != entry.application else {
                continue
            }
            await end(name)
        }
        for declaration in declarations.all where !declaration.isPattern && entries[declaration.name] == nil {
            entries[declaration.name] = Entry(
                declaration, application(of: declaration), makesSlates: slates != nil, at: now)
            // A source that is not on demand starts now.
            update(declaration.name) { _, _ in }
        }
        wake.yield()
    }

    /// Ends a stream whose declaration was removed or changed.
    private func end(_ name: String) async {
        guard var entry = entries.removeValue(forKey: name) else { return }
        entry.machine.setOn(false, at: MonotonicClock.now())
        for request in entry.waiting.values { request.resume(returning: false) }
        for job in entry.jobs.values { await workers.end(job, reason: .ended, description: "") }
        if let slate = entry.slate { await end(slate) }
        for id in entry.pushes.values.compactMap(\.id) { await workers.end(id, reason: .ended, description: "") }
        for publisher in entry.machine.publishers where publisher.role == .publisher {
            await directory.end(publisher.id, reason: .custom, description: "declaration changed")
        }
        if let stream = entry.stream { await directory.end(stream, reason: .ended, description: "") }
    }

    /// Returns the application of a declaration.
    func application(of declaration: StreamDeclaration?) -> ApplicationID {
        declaration?.application ?? authenticator.owner
    }

    /// Returns whether a name is declared for an application.
    func isDeclared(_ name: String, of application: ApplicationID) -> Bool {
        guard let declaration = declarations.declaration(of: name) else { return false }
        return self.application(of: declaration) == application
    }
}

/// The stored form of a declaration of the management API, without its name and application.
private struct StoredDeclaration: Codable {
    let source: String?
    let onDemand: Bool
    let closeAfterMilliseconds: Int64
    let fallbackFile: String?
    let fallbackStream: String?
    /// Declarations that were stored before there were slates have none.
    let slate: String?
    let standby: Bool
    let switchBack: Bool
    let forward: [String]
    let record: Bool
    let capabilities: [String]

    init(_ declaration: StreamDeclaration) {
        source = declaration.source
        onDemand = declaration.isOnDemand
        closeAfterMilliseconds = Int64(TimeSpan(declaration.closeAfter).milliseconds)
        switch declaration.fallback {
        case .file(let text): (fallbackFile, fallbackStream) = (text, nil)
        case .stream(let name): (fallbackFile, fallbackStream) = (nil, name)
        case nil: (fallbackFile, fallbackStream) = (nil, nil)
        }
        slate = declaration.slate
        standby = declaration.hasStandby
        switchBack = declaration.switchesBack
        forward = declaration.forward
        record = declaration.isRecorded
        capabilities = declaration.capabilities
    }

    func declaration(_ name: String, of application: ApplicationID) -> StreamDeclaration {
        var declaration = StreamDeclaration(name: name)
        declaration.application = application
        declaration.source = source
        declaration.isOnDemand = onDemand
        declaration.closeAfter = .milliseconds(closeAfterMilliseconds)
        declaration.fallback = fallbackFile.map { .file($0) } ?? fallbackStream.map { .stream($0) }
        declaration.slate = slate ?? StreamDeclaration.defaultSlate
        declaration.hasStandby = standby
        declaration.switchesBack = switchBack
        declaration.forward = forward
        declaration.isRecorded = record
        declaration.capabilities = capabilities
        return declaration
    }
}
