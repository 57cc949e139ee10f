import PCastRTMP
import Testing

@Suite struct PublishAddressTests {
    @Test(
        "encoders may divide the address as they like",
        arguments: [
            ("ingest", "KEY"), ("ingest/KEY", ""), ("/ingest/", "/KEY"), ("ingest/", "KEY"), ("ingest/KEY/", ""),
            ("ingest//KEY", ""),
        ])
    func division(application: String, name: String) throws {
        let address = try #require(RTMPPublishAddress(application: application, name: name))
        #expect(address.application == "ingest")
        #expect(address.key == "KEY")
        #expect(address.capabilities.isEmpty && address.parameters.isEmpty)
    }

    @Test(
        "capabilities and parameters are separated from the key",
        arguments: [
            ("ingest", "KEY;capabilities=a,b?token=x"), ("ingest", "KEY?token=x;capabilities=a,b"),
            ("ingest", "KEY?token=x&capabilities=a,b"), ("ingest?token=x", "KEY;capabilities=a,b"),
            ("ingest/KEY;capabilities=a,b?token=x", ""),
        ])
    func parameters(application: String, name: String) throws {
        let address = try #require(RTMPPublishAddress(application: application, name: name))
        #expect(address.key == "KEY")
        #expect(address.capabilities == ["a", "b"])
        #expect(address.parameters == [.init(name: "token", value: "x")])
    }

    @Test("a digest token is a key: it may contain slashes, equals signs and colons")
    func digestToken() throws {
        let token = "DIGEST:eyJhIjoi//+/IiwK=="
        for (application, name) in [("ingest", token), ("ingest/" + token, "")] {
            #expect(RTMPPublishAddress(application: application, name: name)?.key == token)
        }
    }

    @Test("percent-encoded bytes are decoded, unless the result is not UTF-8")
    func percentEncoding() {
        #expect(RTMPPublishAddress(application: "ingest", name: "a%2Fb%3b%c3%a9")?.key == "a/b;é")
        #expect(RTMPPublishAddress(application: "ingest", name: "a%FF")?.key == "a%FF")
        #expect(RTMPPublishAddress(application: "ingest", name: "a%2")?.key == "a%2")
        #expect(RTMPPublishAddress(application: "ingest", name: "%+1%")?.key == "%+1%")
    }

    @Test("an address without a key has none")
    func withoutKey() {
        #expect(RTMPPublishAddress(application: "ingest", name: "")?.key == "")
        #expect(RTMPPublishAddress(application: "", name: "KEY")?.application == "")
        #expect(RTMPPublishAddress(application: "", name: "KEY")?.key == "KEY")
    }

    @Test("size and number of parameters are limited")
    func limits() {
        #expect(RTMPPublishAddress(application: "ingest", name: String(repeating: "k", count: 8_186)) != nil)
        #expect(RTMPPublishAddress(application: "ingest", name: String(repeating: "k", count: 8_187)) == nil)
        #expect(RTMPPublishAddress(application: "ingest", name: "k" + String(repeating: ";a=b", count: 64)) != nil)
        #expect(RTMPPublishAddress(application: "ingest", name: "k" + String(repeating: ";a=b", count: 65)) == nil)
        let capabilities = Array(repeating: "c", count: 65).joined(separator: ",")
        #expect(RTMPPublishAddress(application: "ingest", name: "k;capabilities=" + capabilities) == nil)
    }

    @Test("the description contains no secret")
    func description() throws {
        let address = try #require(RTMPPublishAddress(application: "ingest", name: "SECRET?token=SECRET"))
        #expect(!"\(address)".contains("SECRET"))
        #expect(!"\(RTMPServerEvent.publishRequested(address))".contains("SECRET"))
    }
}
