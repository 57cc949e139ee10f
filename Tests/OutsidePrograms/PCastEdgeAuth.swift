// A program outside the package with the product PCastEdgeAuth. A backend creates a token, and a service verifies it.
import PCastEdgeAuth

let now = WallTime(millisecondsSinceEpoch: 1_700_000_000_000)
do {
    let token = try EdgeTokenBuilder()
        .withApplicationId("my-application").withSecret("my-secret")
        .expiresIn(.seconds(3_600), from: now).forStreamingOnly()
        .forOriginStream("stream").forRemoteAddress("192.0.2.7").withCapability("audio-only")
        .build()
    let verification: DigestTokenVerification = DigestTokens.verifyAndDecode(secret: "my-secret", encoded: token)
    guard let authorization = TokenAuthorization(verification) else { fatalError("\(verification.code)") }
    let body: JSONObject? = verification.value
    let kind: EdgeToken.Kind? = authorization.token.kind
    print(body?["expires"] ?? JSONValue.null, kind == .streaming, DigestTokens.fingerprint(of: token))
    try authorization.authorize(
        TokenRequest(
            .subscribe(originStreamID: "stream", tags: []), remoteAddress: IPAddress("192.0.2.7"),
            capabilities: ["audio-only"]), at: now.advanced(by: .seconds(60)))
} catch let error as EdgeAuthError {
    print(error.description)
} catch let rejection as TokenRejection {
    print(rejection.description)
}
