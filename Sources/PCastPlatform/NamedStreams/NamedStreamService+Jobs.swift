import PCastCore
import PCastIO

/// The jobs of declared streams: sources, fallbacks of files, and pushes.
extension NamedStreamService {
    /// Starts the job of the source or of the fallback.
    func startJob(_ role: NamedStreamMachine.Role, of name: String) {
        guard let entry = entries[name], let uri = uri(of: role, entry.declaration) else { return }
        let start = nextStart()
        entries[name]?.starts[role] = start
        let job = DeclaredJob(
            name: name, application: entry.application, role: role, uri: uri, isLooping: role == .fallback,
            isWanted: { [weak self] in await self?.isWanted(role, start, of: name) ?? false },
            onEnd: { [weak self] end in await self?.jobEnded(role, start, of: name, why: end.wire) },
            passesH265: StreamCapabilities.prefers(.h265, in: entry.declaration.capabilities))
        Task {
            do throws(APIError) {
                let id = try await workers.start(job)
                await jobStarted(id, role, start, of: name)
            } catch {
                jobEnded(role, start, of: name, why: error.message)
            }
        }
    }

    /// Returns the URI of a job. A path of a fallback is below the directory of files.
    private func uri(of role: NamedStreamMachine.Role, _ declaration: StreamDeclaration) -> String? {
        guard role == .fallback else { return declaration.source }
        guard case .file(let text) = declaration.fallback else { return nil }
        if text.hasPrefix("file://") { return text }
        return "file://" + (text.hasPrefix("/") ? text : (mediaDirectory ?? "") + "/" + text)
    }

    /// Whether a start of a job was neither stopped nor replaced by another one.
    func isWanted(_ role: NamedStreamMachine.Role, _ start: Int, of name: String) -> Bool {
        guard let entry = entries[name], entry.starts[role] == start else { return false }
        return role == .source ? entry.machine.source.isRunning : entry.machine.fallback.isRunning
    }

    private func jobStarted(_ id: StreamID, _ role: NamedStreamMachine.Role, _ start: Int, of name: String) async {
        guard isWanted(role, start, of: name) else {
            return await workers.end(id, reason: .ended, description: "")
        }
        entries[name]?.jobs[role] = id
        if role == .source { entries[name]?.failure = nil }
    }

    func jobEnded(_ role: NamedStreamMachine.Role, _ start: Int, of name: String, why: String) {
        guard entries[name]?.starts[role] == start else { return }
        entries[name]?.jobs[role] = nil
        if role == .source { entries[name]?.failure = why }
        update(name) { machine, now in machine.jobEnded(role, at: now) }
    }

    /// Stops the job of the source or of the fallback.
    func stopJob(_ role: NamedStreamMachine.Role, of name: String) async {
        // The end of this job does not count as a failure.
        entries[name]?.starts[role] = nextStart()
        guard let id = entries[name]?.jobs.removeValue(forKey: role) else { return }
        await workers.end(id, reason: .ended, description: "")
    }

    // MARK: Pushes

    /// Starts the pushes of a stream that is open, again after they ended.
    func updatePushes(of name: String, at now: Instant) {
        guard let entry = entries[name] else { return }
        for uri in entry.declaration.forward {
            var push = entry.pushes[uri] ?? Push()
            switch push.job.update(isWanted: entry.stream != nil, at: now) {
            case true:
                push.start += 1
                startPush(uri, push.start, of: name, entry.application)
            case false:
                push.start += 1
                if let id = push.id { Task { await workers.end(id, reason: .ended, description: "") } }
                push.id = nil
            default: break
            }
            entries[name]?.pushes[uri] = push
        }
    }

    private func startPush(_ uri: String, _ start: Int, of name: String, _ application: ApplicationID) {
        let job = DeclaredJob(
            name: name, application: application, role: nil, uri: uri, isLooping: false,
            isWanted: { [weak self] in await self?.isWanted(push: uri, start, of: name) ?? false },
            onEnd: { [weak self] end in await self?.pushEnded(uri, start, of: name, why: end.wire) })
        Task {
            do throws(APIError) {
                let id = try await workers.start(job)
                await pushStarted(id, uri, start, of: name)
            } catch {
                pushEnded(uri, start, of: name, why: error.message)
            }
        }
    }

    /// Whether a start of a push was neither stopped nor replaced by another one.
    private func isWanted(push uri: String, _ start: Int, of name: String) -> Bool {
        entries[name]?.pushes[uri]?.start == start
    }

    private func pushStarted(_ id: StreamID, _ uri: String, _ start: Int, of name: String) async {
        guard isWanted(push: uri, start, of: name) else {
            return await workers.end(id, reason: .ended, description: "")
        }
        entries[name]?.pushes[uri]?.id = id
        entries[name]?.pushes[uri]?.failure = nil
    }

    private func pushEnded(_ uri: String, _ start: Int, of name: String, why: String) {
        guard entries[name]?.pushes[uri]?.start == start else { return }
        entries[name]?.pushes[uri]?.id = nil
        entries[name]?.pushes[uri]?.failure = why
        entries[name]?.pushes[uri]?.job.ended(at: MonotonicClock.now())
        wake.yield()
    }
}
