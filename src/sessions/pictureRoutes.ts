import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, object, oneOfTexts, text } from "../api/schemas.js";
import { maxPictureBytes, type Pictures } from "./pictures.js";
import type { PortalSession } from "./portalSession.js";

export interface PictureRouteParts {
  pictures: Pick<Pictures, "keep" | "read">;
  openSession(id: string): Promise<PortalSession>;
}

/** Only the picture itself works there, even if someone opens it as a page. */
const policy = "default-src 'none'; sandbox";

/** Uploading the pictures of a request, and showing them. */
export function pictureRoutes({ pictures, openSession }: PictureRouteParts): Route[] {
  return [
    defineRoute({
      path: "copilot/session/{id}/picture",
      methods: ["POST"],
      summary: "Upload a picture for a request",
      description: "`copilot/session/{id}/query?pictures=` names it. The same picture has the same id.",
      body: "bytes",
      maxBodyBytes: maxPictureBytes,
      bodyDescription: "A PNG, JPEG, GIF or WebP picture of at most 5 MiB.",
      answers: {
        json: either(
          object({ pictureId: text }),
          domainError("SessionNotFound"),
          object({ error: oneOfTexts("PicturesNotSupported", "TooManyPictures"), message: text }),
        ),
      },
      handler: async ({ params, bytes }) => {
        const session = await openSession(params.id);
        await session.checkPictures();
        return { pictureId: await pictures.keep(params.id, bytes) };
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/picture/{pictureId}",
      reads: true,
      methods: ["GET"],
      summary: "A picture of a request",
      answers: {
        json: object({ error: oneOfTexts("PictureNotFound"), message: text }),
        other: Object.fromEntries(
          ["image/png", "image/jpeg", "image/gif", "image/webp"].map(type => [type, "The picture."]),
        ),
      },
      handler: async ({ params, res }) => {
        const { data, mimeType } = await pictures.read(params.id, params.pictureId);
        res.set({ "Content-Type": mimeType, "Content-Security-Policy": policy }).end(data);
      },
    }),
  ];
}
