import PCastCore
import Testing

@testable import PCastCodecs

struct MediaAccessTests {
    @Test("names are opened only with the intended schemes, also in encrypted files")
    func schemes() {
        let web = MediaAccess(schemes: ["http", "https"], protocols: ["http", "tcp", "httpproxy"], formats: [])
        for uri in ["http://host/a.ts", "https://host/", "crypto+http://host/a.ts", "crypto:https://host/"] {
            #expect(web.opens(uri), "\(uri)")
        }
        // Protocols of libavformat that are below others, or that lead elsewhere.
        for uri in [
            "httpproxy://127.0.0.1:22/a", "tcp://127.0.0.1:22", "crypto:tcp://127.0.0.1:22", "crypto+httpproxy://a/b",
            "concat:http://host/a|http://host/b", "file:///etc/passwd", "/etc/passwd", "subfile,,start,0,end,9,,:/a",
            "udp://127.0.0.1:1", "", "data:text/plain,x", "crypto+crypto+tcp://a",
        ] {
            #expect(!web.opens(uri), "\(uri)")
        }
        let files = MediaAccess(schemes: ["file"], protocols: ["file"], formats: [])
        #expect(files.opens("/srv/film.mp4"))
        #expect(files.opens("/srv/12:30.mp4"))
        #expect(!files.opens("http://host/"))
        // libavformat reads bytes: a combining character hides no colon from it.
        #expect(!files.opens("tcp:\u{301}//127.0.0.1"))
        #expect(!web.opens("tcp:\u{301}//127.0.0.1/http"))
    }

    @Test("AAC is returned in contiguous packets")
    func audio() throws {
        let encoder = try AACEncoder()
        #expect(encoder.configuration.count >= 2)
        var samples: [Int64] = []
        for index in 0..<50 {
            let frame = AudioFrame(
                samples: (0..<1_920).map { Int16(8_000 * ($0 / 96 % 2)) }, channels: 2, captureTime: nil,
                timestamp: MediaTime(ticks: Int64(index) * 960, rate: .opus))
            for packet in try encoder.encode(frame) {
                #expect(!packet.bytes.isEmpty)
                samples.append(packet.sample)
            }
        }
        #expect(samples.count >= 40)
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $1 - $0 == 1_024 })
    }
}
