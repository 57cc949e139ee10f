import Foundation
import PCastIO
import PCastJSON
import Synchronization

/// A Chromium without a window, of which this program is the only one that can steer it: by the Chrome DevTools Protocol
/// (https://chromedevtools.github.io/devtools-protocol/) over a socket that it inherits, on which messages end with a zero.
///
/// It has a profile of its own, which is removed with it. When this process ends, in whatever way, so does the browser.
final class Browser: Sendable {
    /// What a page tells by itself.
    struct Event: Sendable {
        var method: String
        var session: String?
        var parameters: JSONValue
    }

    private struct State {
        var number = 0
        var waiting: [Int: CheckedContinuation<Result<JSONValue, PageError>, Never>] = [:]
        /// Why nothing can be asked any more.
        var end: PageError?
        var enders: [CheckedContinuation<PageError, Never>] = []
        /// The process is no more, nor its profile.
        var isGone = false
        var leavers: [CheckedContinuation<Void, Never>] = []
    }

    private struct Command: Encodable {
        var id: Int
        var method: String
        var params: JSONValue
        var sessionId: String?
    }

    private struct Message: Decodable {
        struct Failure: Decodable { var message: String }

        var id: Int?
        var method: String?
        var sessionId: String?
        var params: JSONValue?
        var result: JSONValue?
        var error: Failure?
    }

    /// A longer message is none: a graphic of 4096 pixels square takes no more.
    private static let longestMessage = 96 << 20
    /// Who does not answer in this time is taken to hang.
    private static let timeout = Duration.seconds(60)
    /// So long it is given to end by itself.
    private static let farewell = Duration.seconds(5)

    private let socket: ProcessSocket
    private let process: SpawnedProcess
    private let state = Mutex(State())
    private let profile: URL

    /// - Parameters:
    ///   - program: its path, or a name that is looked for in PATH.
    ///   - isSandboxed: false lets it run without the sandbox around pages, which Chromium refuses to root.
    ///   - onEvent: is called on the thread that reads from the browser, in the order of what happens.
    /// - Throws: ``PageError/noBrowser(_:reason:)``.
    init(
        _ program: String, isSandboxed: Bool = true, onEvent: @escaping @Sendable (Event, Browser) -> Void
    ) throws(PageError) {
        guard let path = Self.path(of: program) else {
            throw .noBrowser(program, reason: "there is no such program")
        }
        // What is wrong with a page would be root's then: of root Chromium demands to do without the sandbox.
        guard !isSandboxed || geteuid() != 0 else { throw .needsUser }
        let profile = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-page-\(UUID().uuidString)")
        self.profile = profile
        do {
            // Cookies and what pages keep are for its user alone.
            try FileManager.default.createDirectory(
                at: profile, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            let (ours, theirs) = try ProcessSocket.pair()
            let nothing = try Descriptor.null()
            socket = ours
            process = try SpawnedProcess(
                path,
                Self.flags + (isSandboxed ? [] : ["--no-sandbox"]) + [
                    "--user-data-dir=\(profile.path)", "about:blank",
                ],
                environment: Self.environment(home: profile.path), isApart: true, input: nothing, output: nothing,
                messages: nothing, further: [theirs, theirs])
        } catch {
            try? FileManager.default.removeItem(at: profile)
            throw .noBrowser(program, reason: "\(error)")
        }
        do {
            _ = try WorkerThread(name: "page") { [self] in attend(onEvent) }
        } catch {
            process.send(SIGKILL)
            _ = process.wait()
            try? FileManager.default.removeItem(at: profile)
            throw .noBrowser(program, reason: "\(error)")
        }
    }

    private static func path(of program: String) -> String? {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Nothing in the background, no window, and no throttling of a page that nobody looks at.
    private static var flags: [String] {
        [
            "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check",
            "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--disable-domain-reliability", "--hide-scrollbars",
            "--mute-audio", "--disable-background-timer-throttling", "--disable-renderer-backgrounding",
            "--disable-backgrounding-occluded-windows", "--autoplay-policy=no-user-gesture-required",
        ]
    }

    private static func environment(home: String) -> [String: String] {
        let kept = ["PATH", "LANG", "LC_ALL", "TZ", "XDG_RUNTIME_DIR"]
        var environment = ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }
        environment["HOME"] = home
        environment["DBUS_SESSION_BUS_ADDRESS"] = "disabled:"
        return environment
    }

    // MARK: Asking

    /// Asks for something and waits for the answer.
    ///
    /// - Parameter session: of the page that is meant; nil for the browser itself.
    /// - Throws: ``PageError/ended(_:)``, also for what the browser refuses.
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

    /// Asks for something whose answer is of no interest. Never waits for it.
    func tell(_ method: String, _ parameters: JSONValue, session: String?) {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        send(Command(id: number, method: method, params: parameters, sessionId: session))
    }

    private func send(_ command: Command) {
        guard let bytes = try? JSONEncoder().encode(command) else { preconditionFailure("a command is JSON") }
        // Who is gone is noticed where it is read from.
        _ = socket.write(Array(bytes) + [0])
    }

    private func expect(_ number: Int, _ method: String) {
        Task { [weak self] in
            try? await Task.sleep(for: Self.timeout)
            guard let self, state.withLock({ $0.waiting[number] != nil }) else { return }
            end(.ended("the browser does not answer to \(method)"))
        }
    }

    // MARK: Hearing

    private func attend(_ onEvent: (Event, Browser) -> Void) {
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
        let leavers = state.withLock { state in
            state.isGone = true
            defer { state.leavers = [] }
            return state.leavers
        }
        for continuation in leavers { continuation.resume() }
    }

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

    // MARK: Ending

    /// Ends it, for the reason that is told to all who wait; harmless when called again.
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
        // It ends when nobody steers it any more.
        socket.end()
        Task { [process] in
            try? await Task.sleep(for: Self.farewell)
            process.send(SIGKILL)
        }
    }

    /// Waits until it has ended, and tells why.
    func ended() async -> PageError {
        await withCheckedContinuation { continuation in
            let reason = state.withLock { state in
                if state.end == nil { state.enders.append(continuation) }
                return state.end
            }
            if let reason { continuation.resume(returning: reason) }
        }
    }

    /// Waits until nothing is left of it.
    func gone() async {
        await withCheckedContinuation { continuation in
            let isGone = state.withLock { state in
                if !state.isGone { state.leavers.append(continuation) }
                return state.isGone
            }
            if isGone { continuation.resume() }
        }
    }
}
