import PCastWeb

/// The server on the port of TLS, from when it listens.
struct SecureServing: Sendable {
    let port: Int
    private let task: Task<Void, any Error>

    /// Returns when it listens.
    ///
    /// - Throws: `PlatformError.addressInUse`.
    static func begin(_ server: WebServer) async throws -> SecureServing {
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
        return SecureServing(port: port, task: task)
    }

    private init(port: Int, task: Task<Void, any Error>) {
        self.port = port
        self.task = task
    }

    func stop() { task.cancel() }
}
