import ArgumentParser
import Glibc
import PCastCore

/// `pcast-bench bulk-worker` is one end of a TCP connection with unlimited data.
struct BulkWorkerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bulk-worker", abstract: "Download data; started by “networks”.", shouldDisplay: false)

    @Option var listen: String?
    @Option var connect: String?
    @Flag var sends = false

    func run() throws {
        guard let address = (listen ?? connect).flatMap({ TransportAddress($0) }) else { throw ExitCode(2) }
        let socket = try ProxySocket(.stream)
        if listen != nil {
            try socket.bind(address)
            try socket.listen()
            while true {
                Self.wait(socket, POLLIN)
                if let accepted = socket.accept() { transfer(accepted) }
            }
        }
        // The other end may still be starting.
        var attempt: ProxySocket? = socket
        while true {
            let tried = try attempt ?? ProxySocket(.stream)
            attempt = nil
            try tried.connect(address)
            Self.wait(tried, POLLOUT)
            if tried.error == 0 { return transfer(tried) }
            usleep(100_000)
        }
    }

    private func transfer(_ socket: ProxySocket) {
        var buffer = [UInt8](repeating: 0x5A, count: 65_536)
        while true {
            Self.wait(socket, sends ? POLLOUT : POLLIN)
            let count =
                sends
                ? send(socket.number, buffer, buffer.count, Int32(MSG_NOSIGNAL))
                : recv(socket.number, &buffer, buffer.count, 0)
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return }
        }
    }

    private static func wait(_ socket: ProxySocket, _ event: Int32) {
        var descriptor = pollfd(fd: socket.number, events: Int16(event), revents: 0)
        poll(&descriptor, 1, -1)
    }
}
