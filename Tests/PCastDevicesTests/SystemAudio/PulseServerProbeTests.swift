import Testing

@testable import PCastDevices

@Suite("The search for a audio server")
struct PulseServerProbeTests {
    private static func mayHave(
        _ environment: [String: String] = [:], files: Set<String> = [], texts: [String: String] = [:]
    ) -> Bool {
        PulseServerProbe.mayHaveServer(
            environment: { environment[$0] }, exists: { files.contains($0) }, text: { texts[$0] })
    }

    @Test("every place that libpulse uses is searched")
    func places() {
        #expect(Self.mayHave(["PULSE_SERVER": "host"]))
        #expect(Self.mayHave(["PULSE_RUNTIME_PATH": "/p"], files: ["/p/native"]))
        #expect(Self.mayHave(["XDG_RUNTIME_DIR": "/run/user/1"], files: ["/run/user/1/pulse/native"]))
        #expect(Self.mayHave(files: ["/var/run/pulse/native"]))
        #expect(
            Self.mayHave(
                ["HOME": "/h"], files: ["/h/.config/pulse/abc-runtime/native"], texts: ["/etc/machine-id": "abc"]))
        #expect(Self.mayHave(texts: ["/etc/pulse/client.conf": "; a comment\n default-server = host\n"]))
        #expect(Self.mayHave(["HOME": "/h"], texts: ["/h/.config/pulse/client.conf": "default-server=unix:/x"]))
    }

    @Test("other places have none")
    func none() {
        #expect(!Self.mayHave())
        #expect(!Self.mayHave(["PULSE_SERVER": "", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/h"]))
        #expect(
            !Self.mayHave(texts: ["/etc/pulse/client.conf": "; default-server = host\ndefault-server =\nautospawn = no"]
            ))
    }
}
