import Dispatch
import Foundation
import PCastCore
import PCastDatabase
import PCastIO
import PCastRecording
import PCastWeb
import Synchronization

/// The object store to which recordings are uploaded, and from which they are played when they are not on the disk.
final class RecordingObjects: Sendable {
    let configuration: RecordingConfiguration.UploadConfiguration
    let client: S3Client
    private let records: Records

    /// Creates a client with the credentials of the configuration.
    ///
    /// - Throws: ``PlatformError/recordings(_:)``.
    init(
        _ configuration: RecordingConfiguration.UploadConfiguration, records: Records,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(PlatformError) {
        self.configuration = configuration
        self.records = records
        let endpoint = configuration.endpoint ?? "https://s3.\(configuration.region).amazonaws.com"
        guard let address = try? WebAddress(endpoint), !address.path.contains("?") else {
            throw .recordings("“\(endpoint)” is not the address of an object store: write https://HOST")
        }
        let credentials: CurrentCredentials
        switch configuration.credentials {
        case .environment:
            guard let read = S3Credentials(environment: environment) else {
                throw .recordings(
                    "the credentials of the object store are missing: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
                        + "or name a file with --s3-credentials")
            }
            credentials = CurrentCredentials(read, file: nil)
        case .file(let path):
            guard let read = CurrentCredentials.read(path) else {
                throw .recordings(
                    "the credentials of the object store cannot be read from \(path): write aws_access_key_id = ID and "
                        + "aws_secret_access_key = SECRET as two lines")
            }
            credentials = CurrentCredentials(read, file: path)
        }
        client = S3Client(
            endpoint: address, region: configuration.region, credentials: { credentials.value },
            clock: { MonotonicClock.wallTime() })
    }

    /// Returns the upload of a file.
    func upload(of file: RecordedFile) -> UploadRecord {
        let folder = RecordingFolder(root: "", stream: file.stream)
        return UploadRecord(
            file: file, bucket: configuration.bucket,
            key: "\(configuration.prefix)\(folder.name)/\(RecordingFolder.FileName(file).text)")
    }

    // MARK: Playback

    /// Returns the object of a file; nil if it was not uploaded. It waits, and must not be called by a thread of Swift
    /// concurrency.
    ///
    /// - Throws: `RecordingError`.
    func file(_ name: RecordingFolder.FileName, of stream: StreamID) throws(RecordingError) -> RemoteFile? {
        let found = Self.wait { [records] in
            do throws(RecordsError) {
                return Result<UploadRecord?, RecordsError>.success(
                    try await records.upload(
                        of: stream, epoch: name.epoch, rendition: name.rendition, number: name.number))
            } catch {
                return .failure(error)
            }
        }
        let row: UploadRecord?
        switch found {
        case .success(let value): row = value
        case .failure(let error): throw .unavailable(object: name.text, reason: "\(error)")
        }
        guard let upload = row, upload.state == .uploaded else { return nil }
        let object = S3Object(bucket: upload.bucket, key: upload.key)
        return RemoteFile(name: "\(upload.bucket)/\(upload.key)", size: upload.file.size) {
            [client] range throws(RecordingError) in
            let read = Self.wait {
                do throws(S3Error) {
                    return Result<[UInt8], S3Error>.success(try await client.get(object, range))
                } catch {
                    return .failure(error)
                }
            }
            switch read {
            case .success(let bytes): return bytes
            case .failure(let error): throw .unavailable(object: object.key, reason: "\(error)")
            }
        }
    }

    /// Waits for the result of an operation on another thread.
    private static func wait<Value: Sendable>(for operation: @escaping @Sendable () async -> Value) -> Value {
        let answer = Answer<Value>()
        Task {
            let value = await operation()
            answer.value.withLock { $0 = value }
            answer.isThere.signal()
        }
        answer.isThere.wait()
        guard let value = answer.value.withLock({ $0 }) else { preconditionFailure("a signal must follow the value") }
        return value
    }

    private final class Answer<Value: Sendable>: Sendable {
        let value = Mutex<Value?>(nil)
        let isThere = DispatchSemaphore(value: 0)
    }
}

extension RecordingFolder.FileName {
    /// Creates the name of a file.
    init(_ file: RecordedFile) { self.init(epoch: file.epoch, rendition: file.rendition, number: file.number) }
}

/// The credentials that are valid now: those of a file are read again when it changes.
private final class CurrentCredentials: Sendable {
    private struct State {
        var credentials: S3Credentials
        var changes: FileChanges?
    }

    private let state: Mutex<State>
    private let file: String?

    init(_ credentials: S3Credentials, file: String?) {
        self.file = file
        state = Mutex(State(credentials: credentials, changes: file.map { FileChanges([$0]) }))
    }

    var value: S3Credentials {
        state.withLock { state in
            // A file that is incomplete at the moment is read at the next change.
            if let file, state.changes?.look() == true, let read = Self.read(file) { state.credentials = read }
            return state.credentials
        }
    }

    /// The maximum size of the file.
    private static let maximumSize = 64 << 10

    static func read(_ path: String) -> S3Credentials? {
        guard let data = FileManager.default.contents(atPath: path), data.count <= maximumSize else { return nil }
        return S3Credentials(file: String(decoding: data, as: UTF8.self))
    }
}
