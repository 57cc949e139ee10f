import Foundation

/// A process of this program that sends or receives over TCP as fast as the connection permits.
final class BulkProcess {
    private let process = Process()

    /// Starts `bulk-worker` with the given arguments in a namespace. Throws an error if it cannot be started.
    init(_ arguments: [String], in namespace: NetworkNamespace) throws {
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = try SystemProgram.url(of: namespace.prefix[0])
        process.arguments = namespace.prefix.dropFirst() + [own, "bulk-worker"] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    func stop() {
        if process.isRunning { process.terminate() }
        process.waitUntilExit()
    }
}
