import Foundation
import PCastCore
import PCastIO
import PCastJSON
import Synchronization

/// A headless Chromium that this process controls with the Chrome DevTools Protocol
/// (https://chromedevtools.github.io/devtools-protocol/), over an inherited socket on which each message ends with a
/// zero byte.
///
/// The browser has its own profile, which is removed at its end. The browser ends when this process ends for any
/// reason.
final class Browser: Sendable {
    /// An event of the protocol.
    struct Event: Sendable {
        var method: String
        var session: String?
        var parameters: JSONValue
    }

    private struct State {
        var number = 0
        var waiting: [Int: CheckedContinuation<Result<JSONValue, PageError>, Never>] = [:]
        /// The reason why no command can be sent any more; nil while the browser runs.
        var end: PageError?
        var enders: [CheckedContinuation<PageError, Never>] = []
        /// Whether the process has ended and the profile was removed.
        var isGone = false
        var exitWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// A command of the protocol.
    private struct Command: Encodable {
        var id: Int
        var method: String
        var params: JSONValue
        var sessionId: String?
    }

    /// A message of the browser: a response or an event.
    private struct Message: Decodable {
        struct Failure: Decodable { var message: String }

        var id: Int?
        var method: String?
        var sessionId: String?
        var params: JSONValue?
        var result: JSONValue?
        var error: Failure?
    }

    /// The maximum size of a message in bytes, which is sufficient for an image of 4096 by 4096 pixels. A longer
    /// message ends the browser.
    private static let longestMessage = 96 << 20
    /// The timeout of a command, after which the browser is ended.
    private static let timeout = Duration.seconds(60)
    /// The time for the browser to exit before it is killed.
    private static let exitTimeout = Duration.seconds(5)

    private let socket: ProcessSocket
    private let process: SpawnedProcess
    private let state = Mutex(State())
    private let profile: URL

    /// Starts a browser. `program` is a path, or a name that is looked up in PATH. If `isSandboxed` is false, pages run
    /// without Chromium's sandbox, which Chromium requires for root. `title` is the title of the page whose audio another page
    /// of the browser may capture; nil to play no audio. `onEvent` is called on the thread that reads from
    /// the browser, in order. Throws ``PageError/noBrowser(_:reason:)``, or ``PageError/needsUser`` for root with a
    /// sandbox.
    init(
        _ program: String, isSandboxed: Bool = true, capturing title: String? = nil,
        onEvent: @escaping @Sendable (Event, Browser) -> Void
    ) throws(PageError) {
        guard let path = Self.path(of: program) else {
            throw .noBrowser(program, reason: "the program does not exist")
        }
        // As root, Chromium only runs without a sandbox, so a page that exploits it would have root's permissions.
        guard !isSandboxed || geteuid() != 0 else { throw .needsUser }
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-page-\(UUID().uuidString)")
        self.profile = profile
        do {
            // The profile contains cookies and data of pages, so only this user may read it.
            try FileManager.default.createDirectory(
                at: profile, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let (ours, theirs) = try ProcessSocket.pair()
            let nothing = try Descriptor.null()
            socket = ours
            process = try SpawnedProcess(
                path,
                Self.flags + (isSandboxed ? [] : ["--no-sandbox"])
                    + [title.map { "--auto-select-tab-capture-source-by-title=\($0)" } ?? "--mute-audio"] + [
                        "--user-data-dir=\(profile.path)", "about:blank",
                    ],
                environment: Self.environment(home: profile.path), isApart: true, input: nothing, output: nothing,
                messages: nothing, further: [theirs, theirs])
        } catch {
            try? FileManager.default.removeItem(at: profile)
            throw .noBrowser(program, reason: "\(error)")
        }
        do {
            _ = try WorkerThread(name: "page") { [self] in handleEvents(onEvent) }
        } catch {
            process.send(SIGKILL)
            _ = process.wait()
            try? FileManager.default.removeItem(at: profile)
            throw .noBrowser(program, reason: "\(error)")
        }
    }

    /// Returns the path of a program; nil if it is not found in PATH.
    private static func path(of program: String) -> String? {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The options of Chromium: no window, no background services, and no throttling of pages that are not visible.
    private static var flags: [String] {
        [
            "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
            "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-domain-reliability", "--hide-scrollbars",
            "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--disable-backgrounding-occluded-windows", "--autoplay-policy=no-user-gesture-required",
        ]
    }

    /// Returns the environment of the browser with few variables and its own home directory.
    private static func environment(home: String) -> [String: String] {
        let kept = ["PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR"]
        var environment = ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }
        environment["HOME"] = home
        environment["DBUS_SESSION_BUS_ADDRESS"] = "disabled:"
        return environment
    }

    // MARK: Commands

    /// Sends a command and returns its result. `session` is that of a page; nil for the browser itself. Throws
    /// ``PageError/ended(_:)`` if the browser has ended or rejects the command.
    func ask(
        _ method: String, _ parameters: JSONValue = [:], session: String? = nil
    ) async throws(PageError) -> JSONValue {
        let answer = await withCheckedContinuation { continuation in
            let number: Int? = state.withLock { state in
                guard state.end == nil else { return nil }
                state.number += 1
                state.waiting[state.number] = continuation
                return state.number
            }
            guard let number else { return continuation.resume(returning: .failure(state.withLock { $0.end! })) }
            send(Command(id: number, method: method, params: parameters, sessionId: session))
            expect(number, method)
        }
        return try answer.get()
    }

    /// Opens a tab, and returns its identifier and its session.
    func openTab(_ address: String) async throws(PageError) -> (target: String, session: String) {
        let target = try await ask("Target.createTarget", ["url": .string(address)])["targetId"]?.string
        guard let target else { throw .ended("the browser opens no tab") }
        let attached = try await ask("Target.attachToTarget", ["targetId": .string(target), "flatten": true])
        guard let session = attached["sessionId"]?.string else { throw .ended("the browser opens no tab") }
        return (target, session)
    }

    /// Waits until a tab has a title. Throws ``PageError/ended(_:)`` if it has another one after ten seconds.
    func awaitTitle(_ title: String, of target: String) async throws(PageError) {
        try await poll { () async throws(PageError) in
            try await self.ask("Target.getTargetInfo", ["targetId": .string(target)])["targetInfo"]?["title"]?.string
                == title
        }
    }

    /// Waits until an expression is true in a tab. Throws ``PageError/ended(_:)`` if it is not after ten seconds.
    func awaitTruth(of expression: String, in session: String) async throws(PageError) {
        try await poll { () async throws(PageError) in
            try await self.ask("Runtime.evaluate", ["expression": .string(expression)], session: session)["result"]?[
                "value"] == true
        }
    }

    private func poll(_ condition: () async throws(PageError) -> Bool) async throws(PageError) {
        let deadline = MonotonicClock.now() + TimeSpan.seconds(10 as Int64)
        while try await !condition() {
            guard MonotonicClock.now() < deadline else { throw .ended("a page of the browser does not load") }
            guard (try? await Task.sleep(for: .milliseconds(10))) != nil else { throw .ended("it was closed") }
        }
    }

    /// Writes a file into the profile, and returns its address; nil if that fails.
    func write(_ document: String, to name: String) -> String? {
        let file = profile.appendingPathComponent(name)
        do { try Data(document.utf8).write(to: file) } catch { return nil }
        return file.absoluteString
    }

    /// Sends a command without waiting for its result.
    func notify(_ method: String, _ parameters: JSONValue, session: String?) {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        send(Command(id: number, method: method, params: parameters, sessionId: session))
    }

    /// Sends a command to the browser.
    private func send(_ command: Command) {
        guard let bytes = try? JSONEncoder().encode(command) else {
            preconditionFailure("a command must be encodable as JSON")
        }
        // The reading thread detects a closed connection.
        _ = socket.write(Array(bytes) + [0])
    }

    /// Starts the timeout of a command.
    private func expect(_ number: Int, _ method: String) {
        Task { [weak self] in
            try? await Task.sleep(for: Self.timeout)
            guard let self, state.withLock({ $0.waiting[number] != nil }) else { return }
            end(.ended("the browser does not respond to \(method)"))
        }
    }

    // MARK: Messages

    /// Reads messages until the browser ends, and then removes its profile.
    private func handleEvents(_ onEvent: (Event, Browser) -> Void) {
        var waiting: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while waiting.count < Self.longestMessage {
            let count = buffer.withUnsafeMutableBytes { socket.read(into: $0) }
            guard count > 0 else { break }
            var rest = buffer[..<count]
            while let zero = rest.firstIndex(of: 0) {
                waiting += rest[..<zero]
                take(waiting, onEvent)
                waiting.removeAll(keepingCapacity: true)
                rest = rest[(zero + 1)...]
            }
            waiting += rest
        }
        end(.ended("the browser has ended"))
        _ = process.wait()
        try? FileManager.default.removeItem(at: profile)
        let exitWaiters = state.withLock { state in
            state.isGone = true
            defer { state.exitWaiters = [] }
            return state.exitWaiters
        }
        for continuation in exitWaiters { continuation.resume() }
    }

    /// Handles a message.
    private func take(_ bytes: [UInt8], _ onEvent: (Event, Browser) -> Void) {
        guard let message = try? JSONDecoder().decode(Message.self, from: Data(bytes)) else { return }
        if let number = message.id {
            let continuation = state.withLock { $0.waiting.removeValue(forKey: number) }
            continuation?.resume(
                returning: message.error.map { .failure(.ended($0.message)) } ?? .success(message.result ?? .null))
        } else if let method = message.method {
            onEvent(Event(method: method, session: message.sessionId, parameters: message.params ?? .null), self)
        }
    }

    // MARK: End

    /// Ends the browser. All waiting commands throw `reason`. It has no effect if the browser has ended already.
    func end(_ reason: PageError) {
        let (waiting, enders, isFirst) = state.withLock { state in
            let isFirst = state.end == nil
            state.end = state.end ?? reason
            defer { (state.waiting, state.enders) = ([:], []) }
            return (state.waiting, state.enders, isFirst)
        }
        for continuation in waiting.values { continuation.resume(returning: .failure(reason)) }
        for continuation in enders { continuation.resume(returning: reason) }
        guard isFirst else { return }
        // The browser exits when the connection is closed.
        socket.end()
        Task { [process] in
            try? await Task.sleep(for: Self.exitTimeout)
            process.send(SIGKILL)
        }
    }

    /// Waits until the browser has ended or is ending, and returns the reason.
    func ended() async -> PageError {
        await withCheckedContinuation { continuation in
            let reason = state.withLock { state in
                if state.end == nil { state.enders.append(continuation) }
                return state.end
            }
            if let reason { continuation.resume(returning: reason) }
        }
    }

    /// Waits until the process has ended and the profile was removed.
    func awaitExit() async {
        await withCheckedContinuation { continuation in
            let isGone = state.withLock { state in
                if !state.isGone { state.exitWaiters.append(continuation) }
                return state.isGone
            }
            if isGone { continuation.resume() }
        }
    }
}

/// A reason why a page cannot be rendered.
public enum PageError: Error, Hashable, Sendable {
    /// The browser does not exist or cannot be started.
    case noBrowser(String, reason: String)
    /// The process runs as root, for which Chromium has no sandbox, and running without one was not permitted.
    case needsUser
    /// The page was not loaded.
    case notLoaded(String, reason: String)
    /// The browser or the page ended or does not respond.
    case ended(String)
}

extension PageError: CustomStringConvertible {
    /// The reason, for people, with what to do.
    public var description: String {
        switch self {
        case .noBrowser(let program, let reason):
            "the browser “\(program)” cannot be started (\(reason)): install Chromium (Debian: apt install chromium), or "
                + "set another one"
        case .needsUser:
            "the browser has no sandbox when it runs as root: run this as another user, or accept that "
                + "(--overlay-without-sandbox)"
        case .notLoaded(let address, let reason):
            "the page “\(address)” cannot be loaded (\(reason)): check its address in a browser on this host"
        case .ended(let what): "the page is no longer rendered: \(what)"
        }
    }
}
