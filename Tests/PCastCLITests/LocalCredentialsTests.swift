import Foundation
import PCastIO
import Testing

@testable import PCastCLI

struct LocalCredentialsTests {
    private let directory = RuntimeDirectory(
        path: NSTemporaryDirectory() + "pcast-test-\(UInt64.random(in: .min ... .max))")

    private func credentials(pid: Int32) -> LocalCredentials {
        LocalCredentials(uri: "http://127.0.0.1:8080", applicationId: "local", secret: "hush", pid: pid)
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    @Test("credentials are readable by this user only, and removed with their process")
    func roundTrip() throws {
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        let mine = credentials(pid: getpid())
        let file = try LocalCredentialsFile.write(mine, in: directory)
        #expect(try mode(file.path) == 0o600)
        #expect(try mode(directory.path) == 0o700)
        #expect(LocalCredentialsFile.running(in: directory) == [mine])
        file.remove(ifOf: getpid() + 1)
        #expect(file.credentials == mine)
        file.remove(ifOf: getpid())
        #expect(LocalCredentialsFile.running(in: directory).isEmpty)
        #expect(!"\(mine)".contains("hush") && !String(reflecting: mine).contains("hush"))
    }

    @Test("credentials of a process that died are skipped and removed")
    func stale() throws {
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        let null = try Descriptor.null()
        let child = try SpawnedProcess(
            "/bin/true", [], environment: [:], isApart: false, input: null, output: null, messages: null)
        let number = try #require(child.processID)
        #expect(child.wait() == .exit(0))
        let file = try LocalCredentialsFile.write(credentials(pid: number), in: directory)
        #expect(LocalCredentialsFile.running(in: directory).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("a file or directory that others can read or could have created is not trusted")
    func foreign() throws {
        defer { try? FileManager.default.removeItem(atPath: directory.path) }
        let file = try LocalCredentialsFile.write(credentials(pid: getpid()), in: directory)
        chmod(file.path, 0o644)
        #expect(file.credentials == nil)
        chmod(file.path, 0o600)
        chmod(directory.path, 0o755)
        #expect(LocalCredentialsFile.running(in: directory).isEmpty)
        #expect(throws: CommandFailure.self) { try directory.prepare() }
        let link = RuntimeDirectory(path: directory.path + "-link")
        symlink(directory.path, link.path)
        defer { unlink(link.path) }
        chmod(directory.path, 0o700)
        #expect(throws: CommandFailure.self) { try link.prepare() }
    }

    @Test("a platform is recognized by its address in every form")
    func sameAddress() {
        let local = credentials(pid: 1)
        #expect(local.isOf(uri: "http://localhost:8080/"))
        #expect(local.isOf(uri: "ws://127.0.0.1:8080/ws"))
        #expect(!local.isOf(uri: "http://127.0.0.1:8081"))
        #expect(!local.isOf(uri: "nonsense"))
    }
}
