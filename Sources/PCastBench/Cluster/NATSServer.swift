import Foundation
import Glibc
import PCastCore
import PCastIO
import Synchronization

/// A process of `nats-server` with JetStream in a network namespace, which can be killed, started again, emptied, and
/// whose disk can be filled.
final class NATSServer: Sendable {
    /// The storage of JetStream.
    enum Storage: Sendable {
        case folder
        /// A file system in memory of 16 MiB, which only the process and its children see.
        case smallDisk
    }

    static let program = "nats-server"
    static let port: UInt16 = 4_222

    private let namespace: NetworkNamespace
    private let address: IPAddress
    private let folder: String
    private let storage: Storage
    private let process = Mutex<Process?>(nil)

    /// The maximum number of bytes that `fill()` writes.
    private static let maximumFill = 64 << 20

    /// Starts a server. `folder` must exist. Throws `BenchFailure` if the program is not installed, or the error of the
    /// start.
    init(in namespace: NetworkNamespace, address: IPAddress, folder: String, storage: Storage) throws {
        self.namespace = namespace
        self.address = address
        self.folder = folder
        self.storage = storage
        try start()
    }

    /// Whether the program is installed.
    static var isInstalled: Bool { (try? SystemProgram.url(of: program)) != nil }

    func start() throws {
        let server = [
            try SystemProgram.url(of: Self.program).path, "--addr", "\(address)", "--port", "\(Self.port)",
            "--jetstream", "--store_dir", store,
        ]
        var command = namespace.prefix
        if storage == .smallDisk {
            command += [
                "unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=16m tmpfs \"$0\" && exec \"$@\"", folder,
            ]
        }
        command += server
        let process = Process()
        process.executableURL = try SystemProgram.url(of: command[0])
        process.arguments = Array(command.dropFirst())
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        self.process.withLock { $0 = process }
    }

    /// Sends SIGKILL and waits for the end of the process.
    func terminateAtOnce() {
        let process = process.withLock { process in
            defer { process = nil }
            return process
        }
        guard let process else { return }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    /// Removes the data of a server that does not run.
    func removeData() throws { try FileManager.default.removeItem(atPath: store) }

    /// Fills the small disk of the running server. Throws `BenchFailure` if it cannot be filled.
    func fill() throws {
        guard let id = process.withLock({ $0?.processIdentifier }) else {
            throw BenchFailure("\(Self.program) does not run")
        }
        let path = "/proc/\(id)/root\(folder)/fill"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw BenchFailure("\(path) cannot be opened: \(String(cString: strerror(errno)))") }
        defer { close(file) }
        let bytes = [UInt8](repeating: 0, count: 4_096)
        var written = 0
        while written < Self.maximumFill {
            let count = write(file, bytes, bytes.count)
            if count < 0, errno == ENOSPC { return }
            guard count > 0 else {
                throw BenchFailure("\(path) cannot be written: \(String(cString: strerror(errno)))")
            }
            written += count
        }
        throw BenchFailure("the disk of \(Self.program) did not become full")
    }

    private var store: String { "\(folder)/store" }
}
