import PCastWeb

/// The running server of the TLS port.
struct TLSListener: Sendable {
    let port: Int
    private let task: Task<Void, any Error>

    /// Starts a server and returns when it listens.
    ///
    /// - Throws: ``PlatformError/addressInUse(_:_:)``, or `CancellationError`.
    static func begin(_ server: WebServer) async throws -> TLSListener {
        let (ports, opened) = AsyncStream<Int>.makeStream()
        let task = Task {
            defer { opened.finish() }
            try await server.run { opened.yield($0) }
        }
        guard let port = await ports.first(where: { _ in true }) else {
            do {
                try await task.value
            } catch {
                throw PlatformError.addressInUse("\(error)", .tlsPort)
            }
            throw CancellationError()
        }
        return TLSListener(port: port, task: task)
    }

    private init(port: Int, task: Task<Void, any Error>) {
        self.port = port
        self.task = task
    }

    func stop() { task.cancel() }
}
