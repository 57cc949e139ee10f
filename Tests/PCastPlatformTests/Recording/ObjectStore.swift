import Foundation
import PCastCore
import PCastIO
import PCastWeb
import Synchronization

@testable import PCastPlatform

/// An S3-compatible object store in its own process (moto), which verifies signatures. See `peers/object_store.py`.
final class ObjectStore: Sendable {
    let uri: String
    let credentials: S3Credentials
    private let process: ChildProcess

    private static let python: String = {
        let environment = ProcessInfo.processInfo.environment
        let cache = environment["XDG_CACHE_HOME"] ?? "\(environment["HOME"] ?? "")/.cache"
        return "\(cache)/pcast/objects/bin/python"
    }()

    /// Whether scripts/peers has installed the object store.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: python)

    private static let program = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../PCastEndToEndTests/peers/object_store.py").standardized.path

    static let bucket = "recordings"

    struct Failure: Error {
        let output: [String]
    }

    private struct Listening: Decodable {
        let uri: String
        let accessKey: String
        let secretKey: String
    }

    /// Runs `body` with an empty object store.
    static func run(_ body: (ObjectStore) async throws -> Void) async throws {
        let output = Mutex<[String]>([])
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let process = try ChildProcess(
            python, [program, "--bucket", bucket], environment: ProcessInfo.processInfo.environment, input: "",
            line: { continuation.yield($0) }, ended: { _ in continuation.finish() })
        defer { process.kill() }
        for await line in lines {
            if let listening = try? JSONDecoder().decode(Listening.self, from: Data(line.utf8)),
                let credentials = S3Credentials(
                    accessKeyID: listening.accessKey, secretAccessKey: listening.secretKey)
            {
                return try await body(ObjectStore(listening.uri, credentials, process))
            }
            output.withLock { $0.append(line) }
        }
        throw Failure(output: output.withLock { $0 })
    }

    private init(_ uri: String, _ credentials: S3Credentials, _ process: ChildProcess) {
        self.uri = uri
        self.credentials = credentials
        self.process = process
    }

    /// The configuration of uploads to the object store.
    var configuration: RecordingConfiguration.UploadConfiguration {
        var configuration = RecordingConfiguration.UploadConfiguration(bucket: Self.bucket)
        configuration.endpoint = uri
        configuration.region = "eu-central-1"
        configuration.prefix = "live/"
        return configuration
    }

    /// The variables with the credentials.
    var environment: [String: String] {
        [
            "AWS_ACCESS_KEY_ID": credentials.accessKeyID, "AWS_SECRET_ACCESS_KEY": credentials.secretAccessKey,
        ]
    }

    /// A client with other credentials, or with those of the object store.
    func client(_ other: S3Credentials? = nil) throws -> S3Client {
        let credentials = other ?? credentials
        return S3Client(
            endpoint: try WebAddress(uri), region: "eu-central-1", credentials: { credentials },
            clock: { MonotonicClock.wallTime() })
    }

    // MARK: Control

    /// The contents of the bucket.
    struct Contents: Decodable {
        struct Object: Decodable, Hashable {
            let key: String
            let size: Int
            let hash: String
        }
        let objects: [Object]
        /// The number of multipart uploads that have begun and not ended.
        let uploads: Int
    }

    /// A request that the object store has answered.
    struct Request: Decodable {
        let method: String
        let path: String
        let query: String
        let status: Int
    }

    func contents() async throws -> Contents { try await control("objects") }

    func requests() async throws -> [Request] { try await control("requests") }

    /// Sends a command, such as `outage`.
    func change(_ command: String) async throws { let _: [String: Int] = try await control(command) }

    private func control<Value: Decodable>(_ path: String) async throws -> Value {
        let answer = try await HTTPRequests.send("GET", "\(uri)/-/\(path)", within: .seconds(60))
        return try JSONDecoder().decode(Value.self, from: Data(answer.body))
    }
}
